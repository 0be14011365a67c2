"""The checks of a simulated life: a sound one passes, and each kind of breach is named."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from outbox.adapter import Idempotency
from sessionstore.wait import Answered
from turnline.testing.checks import findings
from turnline.testing.evidence import Evidence, Ledger, Turn
from turnline.testing.outside import Departure, Ending
from turnline.testing.witness import Note

SESSION = "acme/agent:a/dm:1"
HEAD = {"tenant": "acme", "session": "agent:a/dm:1"}


def turn(turn_id: str, *members: int, entries: tuple[tuple[str, dict[str, Any]], ...] = ()) -> Turn:
    closed = {"turn_id": turn_id, "handler": "message", "members": list(members)}
    return Turn(SESSION, turn_id, (*entries, ("turn.closed", closed)))


def inbox(pos: int, event_id: str, kind: str = "message", **changes: Any) -> dict[str, Any]:
    row = {"pos": pos, "source": "sim", "event_id": event_id, "kind": kind, "rank": 2, "status": "settled"}
    return {**HEAD, **row, "received_at": 10.0, **changes}


def departure(**changes: Any) -> Departure:
    given: dict[str, Any] = {
        "at": 50.0,
        "wall": 50.0,
        "life": "a1",
        "adapter": "mail",
        "idempotency": Idempotency.LOOKUP,
        "key": "f1",
        "attempt": 1,
        "session": "agent:a/dm:1",
        "row": {"state": "sending", "attempts": 1, "binds": {}, "expires_at": None},
        "thawed_at": 0.0,
        "fact": 0,
        "fact_moved_at": -1.0,
        "looked": (),
        "disturbed_at": -100.0,
        "ending": Ending.DONE,
        **changes,
    }
    return Departure(**given)


def outbox(pos: int, **changes: Any) -> dict[str, Any]:
    row = {"pos": pos, "lane": "mail", "adapter": "mail", "then_name": "called", "state": "delivered"}
    more = {"on_unknown": "ask", "possible_duplicate": 0, "attempts": 1, "binds": None, "approval": ""}
    return {**HEAD, **row, **more, **changes}


def sound() -> Evidence:
    """A message, a call whose outcome was asked for, a timer."""
    message = ("message.in", {"source": "sim", "event_id": "e1"})
    called = ("effect.requested", {"effect_id": "f1"})
    told = ("outcome.received", {"effect_id": "f1", "outcome": "delivered"})
    rang = ("wait.closed", {"wait_id": "w1"})
    return Evidence(
        inbox=[inbox(1, "e1"), inbox(2, "f1.1", "outcome", source="outbox"), inbox(3, "w1", "timer", source="wait")],
        outbox={"f1": outbox(1)},
        waits={"w1": {**HEAD, "kind": "timer", "due": 9.0, "status": "answered", "answered_by": "", "binds": b"{}"}},
        states={SESSION: {"seen": ["sim/e1"], "outcomes": ["f1:delivered"], "fired": ["w1"], "decisions": []}},
        versions={SESSION: 3},
        slots=[],
        turns=[
            turn("t1", 1, entries=(message, called)),
            turn("t2", 2, entries=(told,)),
            turn("t3", 3, entries=(rang,)),
        ],
        notes=[
            Note("effect", "f1", "pending", "sending", "1"),
            Note("effect", "f1", "sending", "delivered", "1"),
            Note("wait", "w1", "open", "answered", ""),
            Note("commit", SESSION, "1 n", "1 n", ""),
        ],
        departures=[departure()],
        deeds={"f1": [50.2]},
        ledger=Ledger(acknowledged={("acme", "sim", "e1"): "agent:a/dm:1"}),
    )


def noted(what: str, was: str, now: str) -> Callable[[Evidence], Evidence]:
    return lambda e: replace(e, notes=[*e.notes, Note(what, "f1", was, now, "1")])


def left(*changes: dict[str, Any]) -> Callable[[Evidence], Evidence]:
    return lambda e: replace(e, departures=[departure(**c) for c in changes])


def answered_twice(e: Evidence) -> Evidence:
    answers: Any = [("w1", by, Answered("w1", "agent:a/dm:1", 3)) for by in ("ann", "bob")]
    waits = {"w1": {**e.waits["w1"], "answered_by": "ann"}}
    return replace(e, waits=waits, ledger=replace(e.ledger, answers=answers))


BOUND = {"state": "sending", "attempts": 1, "binds": {"fact": 1}, "expires_at": None}

BREACHES: list[tuple[str, Callable[[Evidence], Evidence]]] = [
    ("is stored 0 times", lambda e: replace(e, inbox=e.inbox[1:])),
    ("is stored 2 times", lambda e: replace(e, inbox=[*e.inbox, inbox(9, "e1")])),
    ("still queued", lambda e: replace(e, inbox=[*e.inbox, inbox(9, "e9", status="queued")])),
    (
        "was accepted 2 times",
        lambda e: replace(e, ledger=replace(e.ledger, accepted=Counter({("acme", "sim", "e1"): 2}))),
    ),
    ("is in 2 turns", lambda e: replace(e, turns=[*e.turns, turn("t4", 1)])),
    ("is in 0 turns", lambda e: replace(e, turns=e.turns[:2])),
    ("no row stands for", lambda e: replace(e, turns=[*e.turns, turn("t4", 77)])),
    ("ran in the order [2, 1, 3]", lambda e: replace(e, turns=[e.turns[1], e.turns[0], e.turns[2]])),
    ("was taken under 1 n", noted("commit", "1 n", "2 m")),
    ("the version of f1 went from 3 to 5", noted("version", "3", "5")),
    ("has version 4 and 3 turns", lambda e: replace(e, versions={SESSION: 4})),
    ("went from delivered to retry", noted("effect", "delivered", "retry")),
    ("went from settled to settled", noted("row", "settled", "settled")),
    ("no commit decided on it", left({"row": None})),
    ("left before it was marked", left({"attempt": 2})),
    ("after looks that showed [2]", left({"row": BOUND, "looked": (2,), "fact": 2})),
    ("although the fact had moved", left({"row": BOUND, "looked": (1,), "fact": 2, "fact_moved_at": 20.0})),
    ("after it had expired", left({"row": {**BOUND, "binds": {}, "expires_at": 30.0}})),
    ("did f1 2 times", lambda e: replace(e, deeds={"f1": [50.2, 60.0]})),
    (
        "was sent f1 again",
        left({"idempotency": Idempotency.NONE, "ending": Ending.LOST}, {"idempotency": Idempotency.NONE}),
    ),
    (
        "left in the order [2, 1]",
        lambda e: replace(e, outbox={"f1": outbox(1), "f2": outbox(2)}, departures=[departure(key="f2"), departure()]),
    ),
    ("said to be delivered, and was never done", lambda e: replace(e, deeds={})),
    ("said to be expired, and was done", lambda e: replace(e, outbox={"f1": outbox(1, state="expired")})),
    ("is still unknown", lambda e: replace(e, outbox={"f1": outbox(1, state="unknown")})),
    ("stands 0 times in transcripts", lambda e: replace(e, outbox={**e.outbox, "f2": outbox(2, then_name="")})),
    ("is not in the outbox", lambda e: replace(e, outbox={}, departures=[])),
    ("was told 0 times", lambda e: replace(e, turns=[e.turns[0], turn("t2", 2), e.turns[2]])),
    ("ended 2 times", lambda e: replace(e, notes=[*e.notes, Note("wait", "w1", "answered", "expired", "")])),
    ("was not told", lambda e: replace(e, inbox=e.inbox[:2])),
    ("rang 5.0 s early", lambda e: replace(e, waits={"w1": {**e.waits["w1"], "due": 15.0}})),
    ("were both told", answered_twice),
    (
        "its approval to",
        lambda e: replace(e, outbox={"f1": outbox(1, approval="w1", binds=orjson.dumps({"fact": 2}))}),
    ),
    (
        "has not 1 event",
        lambda e: replace(e, slots=[{"job": "a.each", "nominal": "2027-01-01T00:01:00Z", "outcome": "fired"}]),
    ),
    (
        "went from 2027-01-01T00:01:00Z to 2027-01-01T00:03:00Z",
        lambda e: replace(
            e,
            slots=[{"job": "a.each", "nominal": f"2027-01-01T00:0{n}:00Z", "outcome": "skipped"} for n in (1, 3)],
        ),
    ),
    ("has seen []", lambda e: replace(e, states={SESSION: {**e.states[SESSION], "seen": []}})),
    ("was run again for 2", noted("step", "1", "2")),
]


def test_a_sound_life_has_no_findings() -> None:
    assert list(findings(sound())) == []


@pytest.mark.parametrize(("said", "breach"), BREACHES, ids=[said for said, _ in BREACHES])
def test_each_breach_is_named(said: str, breach: Callable[[Evidence], Evidence]) -> None:
    assert any(said in found for found in findings(breach(sound())))
