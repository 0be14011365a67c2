"""What a visitor is shown of a transcript, and what is kept from it."""

from typing import Any

import pytest

from router.chatitem import GIVEN_UP, items, needed

WEBCHAT = {"adapter": "webchat", "lane": "webchat"}
SLACK = {"adapter": "slack", "lane": "slack:C1"}


def event(type_: str, seq: int = 1, **body: Any) -> dict[str, Any]:
    return {"seq": seq, "epoch": 0, "type": type_, "at": 5.0, "turn_id": "t", "body": body}


def said(text: str = "hi", lane: str = "webchat", effect_id: str = "f1", **more: Any) -> dict[str, Any]:
    return event("message.out", effect_id=effect_id, text=text, lane=lane, **more)


def heard(data: Any, *, route: Any = None, kind: str = "message") -> dict[str, Any]:
    body = {"event_id": "e1", "kind": kind, "data": data, "received_at": 4.0, "route": route}
    return event("message.in", **body)


def closed(status: str, answer: Any, by: str) -> dict[str, Any]:
    return event("wait.closed", wait_id="w1", status=status, answer=answer, by=by, note="")


def wait(status: str = "open", answer: Any = None, *, kind: str = "approval", route: Any = None) -> dict[str, Any]:
    return {"wait_id": "w1", "kind": kind, "status": status, "answer": answer, "route": route}


def shown(one: dict[str, Any], *, state: str = "", wait_row: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return items([one], {"f1": state} if state else {}, {"w1": wait_row} if wait_row else {}, "webchat:me")


@pytest.mark.parametrize("route", [None, WEBCHAT])
def test_a_visitors_message_keeps_the_id_that_its_page_gave(route: Any) -> None:
    [item] = shown(heard({"text": "hi", "client_msg_id": "c1"}, route=route))
    assert item == {
        "seq": 1,
        "kind": "message.in",
        "id": "e1",
        "at": 4.0,
        "text": "hi",
        "client_msg_id": "c1",
    }


@pytest.mark.parametrize(
    "hidden",
    [
        heard({"text": "hi"}, route=SLACK),
        heard({"job": "nightly"}, kind="cron"),
        heard({"text": "x"}, kind="cron"),
        heard({"number": 1}),
        heard(None),
        said(lane="slack:C1"),
        event("turn.failed", error="secret", attempts=1, dead=False),
        event("state.patched", ops=[]),
        event("step.recorded", key="k"),
        event("outcome.received", effect_id="f1"),
    ],
)
def test_what_was_not_said_in_this_chat_is_not_shown(hidden: dict[str, Any]) -> None:
    assert shown(hidden) == []


@pytest.mark.parametrize("state", ["pending", "delivered", "unknown", "failed"])
def test_a_reply_carries_the_state_of_its_effect(state: str) -> None:
    [item] = shown(said(), state=state)
    assert (item["kind"], item["id"], item["text"], item["state"]) == ("message.out", "f1", "hi", state)


def test_a_reply_that_nobody_had_to_deliver_has_no_state() -> None:
    [item] = shown(said(lane="", effect_id=""))
    assert "state" not in item
    assert item["id"] == "t.1"


@pytest.mark.parametrize(
    ("row", "status", "answer"),
    [
        (wait(), "open", None),
        (wait("answered", "approved"), "answered", "approved"),
        (wait("answered", "reject"), "answered", "rejected"),
        (wait("expired"), "expired", None),
        (None, "void", None),
    ],
)
def test_a_question_carries_how_it_stands_now(row: dict[str, Any] | None, status: str, answer: Any) -> None:
    asked = said("Deploy?", wait_id="w1", options=["approve", "reject"], binds={"commit": "9f3"})
    [item] = shown(asked, state="delivered", wait_row=row)
    assert (item["kind"], item["wait_id"], item["status"], item["answer"]) == ("ask", "w1", status, answer)
    assert (item["options"], item["binds"]) == (["approve", "reject"], {"commit": "9f3"})


def test_an_answer_is_the_visitors_own_only_where_the_visitor_gave_it() -> None:
    [own] = shown(closed("approved", "approve", "webchat:me"), wait_row=wait("answered", "approve"))
    [other] = shown(closed("rejected", "rejected", "admin"), wait_row=wait("answered", "rejected"))
    assert (own["status"], own["answer"], "client_msg_id" in own) == ("answered", "approved", True)
    assert (other["status"], other["answer"], "client_msg_id" in other) == ("answered", "rejected", False)


def test_a_question_that_nobody_answered_says_so() -> None:
    [item] = shown(closed("expired", None, "time"), wait_row=wait("expired"))
    assert (item["kind"], item["status"], item["answer"]) == ("answer", "expired", None)
    assert item["text"]


@pytest.mark.parametrize("row", [None, wait(kind="timer"), wait(route=SLACK)])
def test_the_end_of_what_was_not_asked_here_is_not_shown(row: dict[str, Any] | None) -> None:
    assert shown(closed("fired", None, "time"), wait_row=row) == []


def test_giving_up_is_said_without_the_error() -> None:
    [item] = shown(event("turn.failed", error="password is x", attempts=5, dead=True))
    assert (item["kind"], item["text"]) == ("notice", GIVEN_UP)


def test_what_must_be_looked_up_is_named_once() -> None:
    asked = said("Deploy?", wait_id="w1", options=[], binds={})
    wanted = needed([said(), said(effect_id="", lane=""), asked, closed("approved", "approved", "x")])
    assert wanted.effects == ("f1", "f1")
    assert wanted.waits == ("w1",)
