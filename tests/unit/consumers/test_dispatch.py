"""Dispatch: which handler gets an event, given what the session awaits."""

from typing import Any

import pytest
from pydantic import BaseModel

from consumers.agent import Agent
from consumers.dispatch import Dispatch, NoHandler, dispatch
from consumers.outcome import Decision, Fired, Outcome
from sessionstore.event import Event, Kind
from tests.unit.consumers.rows import answered, awaiting, ended, fired, message, row


class Order(BaseModel):
    number: int


@pytest.fixture
def agent() -> Agent[Any]:
    agent: Agent[Any] = Agent("a")

    @agent.on("message", "github.push", "github.*")
    async def handle(turn: Any) -> None: ...

    @agent.continuation
    async def go(turn: Any, decision: Decision) -> None: ...

    @agent.continuation
    async def after(turn: Any, outcome: Outcome[Any]) -> None: ...

    @agent.continuation
    async def typed(turn: Any, outcome: Outcome[Order]) -> None: ...

    @agent.continuation
    async def wake(turn: Any, timer: Fired) -> None: ...

    return agent


WAITING = awaiting(w1={"kind": "approval"}, e1={"kind": "outcome"}, t1={"kind": "timer"})


def dispatched(agent: Agent[Any], event: Event) -> Dispatch:
    found = dispatch(agent, WAITING, [row(1, event)])
    assert isinstance(found, Dispatch), found
    return found


def refused(agent: Agent[Any], event: Event) -> NoHandler:
    found = dispatch(agent, WAITING, [row(1, event)])
    assert isinstance(found, NoHandler), found
    return found


@pytest.mark.parametrize("kind", [Kind.MESSAGE, Kind.CRON, Kind.COMMAND])
def test_what_comes_from_outside_goes_by_its_type(agent: Agent[Any], kind: Kind) -> None:
    assert dispatched(agent, message(kind=kind)).name == "message"


def test_the_most_specific_handler_wins(agent: Agent[Any]) -> None:
    assert agent.handler_for("github.push") is agent.handlers["github.push"]
    assert agent.handler_for("github.issues.opened") is agent.handlers["github.*"]
    assert agent.handler_for("gitlab.push") is None


def test_a_star_takes_what_nothing_else_takes(agent: Agent[Any]) -> None:
    @agent.on("*")
    async def rest(turn: Any) -> None: ...

    assert agent.handler_for("gitlab.push") is rest
    assert agent.handler_for("github.push") is not rest


def test_a_type_that_nobody_handles_is_told_and_runs_nothing(agent: Agent[Any]) -> None:
    assert "gitlab" in refused(agent, message(type="gitlab")).reason


@pytest.mark.parametrize(
    ("answer", "status"),
    [("approve", "approved"), ("approved", "approved"), ("reject", "rejected"), ("maybe", "answered"), (7, "answered")],
)
def test_an_answer_goes_to_its_continuation_as_a_decision(agent: Agent[Any], answer: Any, status: str) -> None:
    found = dispatched(agent, answered("w1", answer))
    [decision] = found.arguments
    assert isinstance(decision, Decision)
    assert (found.name, decision.status, decision.answer, decision.by) == ("go", status, answer, "ann")
    assert decision.approved == (status == "approved")


def test_an_expired_question_goes_there_too(agent: Agent[Any]) -> None:
    [decision] = dispatched(agent, answered("w1", None, status="expired")).arguments
    assert decision.status == "expired"


def test_an_approval_brings_the_facts_that_it_is_bound_to(agent: Agent[Any]) -> None:
    found = dispatched(agent, answered("w1", binds={"commit": "abc"}))
    assert found.binds == {"commit": "abc"}
    assert found.approval == "w1"


@pytest.mark.parametrize(("now", "status"), [("abc", "approved"), ("def", "void"), (None, "void")])
def test_an_approval_whose_facts_moved_is_void_before_its_handler_sees_it(
    agent: Agent[Any], now: Any, status: str
) -> None:
    found = dispatched(agent, answered("w1", binds={"commit": "abc"})).with_facts({"commit": now})
    [decision] = found.arguments
    assert decision.status == status
    assert not decision.approved or status == "approved"


@pytest.mark.parametrize(("then", "event"), [("go", answered), ("after", ended), ("wake", fired)])
def test_what_is_not_awaited_any_more_is_recorded_and_runs_nothing(agent: Agent[Any], then: str, event: Any) -> None:
    assert "not awaited" in refused(agent, event("gone")).reason


def test_a_continuation_that_the_app_does_not_know_is_named(agent: Agent[Any]) -> None:
    assert "'old_name'" in refused(agent, answered("w1", then="old_name")).reason


def test_an_outcome_goes_to_its_continuation(agent: Agent[Any]) -> None:
    found = dispatched(agent, ended("e1", result={"n": 1}, receipt="r", external_id="x"))
    [outcome] = found.arguments
    assert isinstance(outcome, Outcome)
    assert (outcome.status, outcome.result, outcome.receipt, outcome.external_id) == ("delivered", {"n": 1}, "r", "x")
    assert outcome.ok


def test_an_outcomes_result_has_the_type_that_its_continuation_names(agent: Agent[Any]) -> None:
    [outcome] = dispatched(agent, ended("e1", then="typed", result={"number": 7})).arguments
    assert outcome.result == Order(number=7)


def test_a_failed_outcome_has_no_result_and_says_why(agent: Agent[Any]) -> None:
    [outcome] = dispatched(agent, ended("e1", "failed", then="typed", error="no")).arguments
    assert (outcome.ok, outcome.result, outcome.error) == (False, None, "no")


def test_an_outcome_that_a_person_has_to_tell_runs_nothing(agent: Agent[Any]) -> None:
    assert "person" in refused(agent, ended("e1", "asked")).reason


def test_a_void_outcome_names_the_approval_to_ask_for_again(agent: Agent[Any]) -> None:
    found = refused(agent, ended("e1", "void", approval="w0", facts={"commit": "def"}))
    assert (found.ask_again, found.facts) == ("w0", {"commit": "def"})


def test_a_fired_timer_brings_its_data(agent: Agent[Any]) -> None:
    assert dispatched(agent, fired("t1", {"n": 1})).arguments == (Fired("t1", {"n": 1}),)
