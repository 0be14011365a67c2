"""The portrait: a session's stage in words, from its record alone."""

from typing import Any

import pytest

from sessionstore.record import new_record
from sessionstore.reducer import fold_all
from turnline.cli.portrait import awaits, portrait

NOW = 1_000_000.0


def session(record: Any, **changes: Any) -> dict[str, Any]:
    head = {"record": record, "queued": 0, "queued_rows": [], "effects_open": 0, "turns": 1, "tokens": 0, "cost": 0.0}
    head |= {"seconds": 0.0, "seq": 3, "attempt": 0, "owner": None, "lease_until": None, "fence": 2}
    return head | changes


def lines(record: Any, *, effects: Any = (), questions: Any = None, **changes: Any) -> list[str]:
    pairs = portrait(session(record, **changes), effects, questions or {}, NOW)
    return [f"{name}: {said}" for name, said in pairs]


def opened(wait_id: str, kind: str, **changes: Any) -> tuple[str, dict[str, Any]]:
    body = {"wait_id": wait_id, "kind": kind, "then": "go", "question": "Deploy?", "binds": {}, "options": []}
    return "wait.opened", body | {"expires_at": None, "due": None} | changes


def test_a_session_that_has_not_run_says_so() -> None:
    assert lines(None)[0] == "stage: it has not run yet"


def test_a_session_whose_turn_fails_again_and_again_says_so() -> None:
    told = lines(None, attempt=3, attempt_error="ValueError: no such order")
    assert told[0] == "stage: no turn of it has ended yet"
    assert "next turn: tried 3 times so far: ValueError: no such order" in told


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ([], ""),
        (["timer"], "awaits a timer"),
        (["timer", "outcome"], "awaits an outcome"),
        (["outcome", "approval", "timer"], "awaits an answer"),
    ],
)
def test_what_holds_a_session_up_is_said_in_a_word(kinds: list[str], said: str) -> None:
    record = new_record()
    record["execution"]["awaited"] = {f"w{n}": {"kind": kind} for n, kind in enumerate(kinds)}
    assert awaits(record) == said
    assert awaits(None) == ""


def test_an_open_question_is_told_with_facts_expiry_and_how_to_answer() -> None:
    record = fold_all(new_record(), [opened("w1", "approval", binds={"commit": "a"}, expires_at=NOW + 7200)])
    told = lines(record)
    assert "awaits: an answer: Deploy? [commit=a] → go, expires in 2h" in told
    assert ": turnline approvals answer w1 approve" in told


def test_a_timer_is_told_by_when_it_fires() -> None:
    assert "awaits: a timer in 1m 30s → go" in lines(fold_all(new_record(), [opened("w1", "timer", due=NOW + 90)]))


def test_a_void_approval_tells_what_moved() -> None:
    closed = {"wait_id": "w1", "status": "approved", "by": "bob", "answer": "approved", "note": ""}
    moved = {"name": "commit", "value": "b", "was": "a"}
    events = [opened("w1", "approval", binds={"commit": "a"}), ("wait.closed", closed), ("fact.observed", moved)]
    told = lines(fold_all(new_record(), events), questions={"w1": "Deploy?"})
    assert "approvals: void by bob, bound to commit=a (commit has changed): Deploy?" in told


@pytest.mark.parametrize(
    ("until", "said"), [(NOW + 20, "lease: held for another 20s by me"), (NOW - 5, "lease: ran out 5s ago by me")]
)
def test_a_lease_is_told_with_what_is_left_of_it(until: float, said: str) -> None:
    assert lines(None, owner="me", lease_until=until)[-1].startswith(said)


def test_queued_rows_are_told_with_their_text_and_the_rest_counted() -> None:
    row = {"kind": "message", "due": NOW, "received_at": NOW - 61, "event": {"data": {"text": "hi\nthere"}}}
    told = lines(None, queued=9, queued_rows=[row] * 9)
    assert told.count(": message 1m 1s ago: hi there") == 4
    assert "queued: message 1m 1s ago: hi there" in told
    assert ": and 4 more" in told


def test_an_open_run_is_told_by_what_it_has_used() -> None:
    record = new_record()
    record["execution"]["run"] = {"id": "r", "turns": 3, "effects": 2, "tokens": 1200, "cost": 0.5}
    assert "open run: 3 turns, 2 effects, 1,200 tokens, cost 0.5 so far" in lines(record)


def test_effects_are_told_by_state_attempt_and_error() -> None:
    effect = {"state": "retry", "attempts": 2, "due": NOW + 30, "summary": "call", "adapter": "http", "error": "503"}
    assert "effects: retry, attempt 2, due in 30s, call: 503" in lines(None, effects=[effect])
