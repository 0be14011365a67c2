"""An answer to a question that is bound to facts: what it still approves, and what follows from a no."""

from typing import Any

import pytest

from consumers.agent import Agent
from consumers.dispatch import Dispatch, dispatch
from consumers.outcome import Decision
from consumers.turn import Turn
from sessionstore.event import Event, Kind
from sessionstore.inbox import InboxRow
from sessionstore.record import new_record
from sessionstore.reducer import fold

WAIT = "w1"


def answered(answer: str, binds: dict[str, Any]) -> Dispatch:
    """Who handles this answer to the question w1."""
    agent = Agent("release")

    @agent.continuation
    async def ship(turn: Turn, decision: Decision) -> None: ...

    opened = {"wait_id": WAIT, "kind": "approval", "then": "ship", "question": "Deploy?", "binds": binds}
    record = fold(new_record(), "wait.opened", {**opened, "options": [], "expires_at": None, "due": None})
    data = {**opened, "status": "answered", "answer": answer, "by": "bob", "note": "", "data": None}
    event = Event("t", "wait", WAIT, "approval.answered", "agent:release/a:1", "release", data, kind=Kind.ANSWER)
    found = dispatch(agent, record, [InboxRow(1, event, 0.0, 0)])
    assert isinstance(found, Dispatch)
    return found


def decision_of(found: Dispatch) -> Decision:
    [decision] = found.arguments
    assert isinstance(decision, Decision)
    return decision


@pytest.mark.parametrize(("answer", "status"), [("approve", "approved"), ("canary", "answered")])
def test_what_an_approval_calls_is_bound_to_the_facts_that_it_was_given_for(answer: str, status: str) -> None:
    found = answered(answer, {"commit": "a1"}).with_facts({"commit": "a1"})
    assert decision_of(found).status == status
    assert (found.binds, found.approval) == ({"commit": "a1"}, WAIT)


@pytest.mark.parametrize("answer", ["approve", "canary"])
def test_an_answer_whose_facts_have_moved_is_void_and_approves_nothing(answer: str) -> None:
    found = answered(answer, {"commit": "a1"}).with_facts({"commit": "b2"})
    assert (decision_of(found).status, decision_of(found).facts) == ("void", {"commit": "b2"})
    assert found.approval == ""


def test_a_no_needs_no_look_and_binds_nothing() -> None:
    found = answered("reject", {"commit": "a1"})
    assert decision_of(found).status == "rejected"
    assert (dict(found.binds), found.approval) == ({}, "")


def test_an_answer_to_a_question_that_is_bound_to_nothing_approves_without_a_look() -> None:
    found = answered("approve", {})
    assert decision_of(found).approved
    assert (dict(found.binds), found.approval) == ({}, "")
