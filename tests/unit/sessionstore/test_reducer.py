"""The reducer: each type of transcript event changes the record in its own way, and the record is their fold."""

import copy
from typing import Any

import orjson
import pytest

from sessionstore.errors import Damaged
from sessionstore.record import (
    APPROVALS_MAX,
    ERRORS_MAX,
    OUTCOMES_MAX,
    Record,
    canonical,
    checksum,
    new_record,
)
from sessionstore.reducer import TELLING, TYPES, fold, fold_all


def opened(wait_id: str = "w1", kind: str = "approval", binds: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "wait_id": wait_id,
        "kind": kind,
        "then": "go",
        "question": "Go?",
        "options": ["approve"],
        "binds": binds or {},
        "expires_at": None,
        "due": None,
    }


def closed(wait_id: str = "w1", status: str = "approved") -> dict[str, Any]:
    return {"wait_id": wait_id, "status": status, "answer": "approve", "by": "ann", "note": ""}


def requested(effect_id: str = "e1", then: str = "after") -> dict[str, Any]:
    return {"effect_id": effect_id, "then": then, "summary": "deploy"}


def received(effect_id: str = "e1", outcome: str = "delivered", error: str = "") -> dict[str, Any]:
    return {"effect_id": effect_id, "outcome": outcome, "summary": "deploy", "error": error}


EXAMPLES: dict[str, dict[str, Any]] = {
    "state.patched": {"ops": [{"op": "add", "path": "/n", "value": 1}]},
    "record.noted": {"goal": {"aim": "ship"}, "phase": "build", "plan_next": "test"},
    "fact.observed": {"name": "commit", "value": "abc", "was": None},
    "wait.opened": opened(),
    "wait.closed": closed(),
    "effect.requested": requested("e2"),
    "outcome.received": received(),
    "outcome.asked": received(),
    "turn.failed": {"error": "ValueError: no", "attempts": 5, "dead": True},
    "turn.closed": {"turn_id": "t1", "agent_version": "3", "run": {"id": "t1"}},
    "session.status": {"status": "completed", "reason": "done"},
    "artifact.stored": {"name": "log", "digest": "a" * 64, "size": 1, "media_type": "text/plain"},
    "artifact.dropped": {"name": "old"},
    "workspace.changed": {"set": {"a.py": {"digest": "b" * 64, "size": 2}}, "removed": ["gone.py"]},
    "wait.cancelled": {"wait_id": "w1", "by": "ann"},
    "effect.withdrawn": {"effect_id": "e1", "was": "pending"},
    "run.closed": {"reason": "cancel"},
    "session.reset": {"epoch": 1, "by": "ann"},
    "session.restored": {"to_seq": 4, "record": {**new_record(), "state": {"n": 2}}},
    "session.person": {"person": "ann"},
}


def full_record() -> Record:
    entries = [("wait.opened", opened("w1", binds={"commit": "abc"})), ("effect.requested", requested())]
    entries.append(("artifact.stored", {"name": "old", "digest": "c" * 64, "size": 3, "media_type": "text/plain"}))
    entries.append(("turn.closed", {"turn_id": "t0", "agent_version": "2", "run": {"id": "t0"}}))
    return fold_all(new_record(), entries)


def test_there_is_an_example_of_every_type_that_changes_something() -> None:
    assert EXAMPLES.keys() == TYPES - TELLING


@pytest.mark.parametrize("type_", sorted(TYPES - TELLING))
def test_the_given_record_is_not_changed(type_: str) -> None:
    record = full_record()
    before = copy.deepcopy(record)
    fold(record, type_, EXAMPLES[type_])
    assert record == before


@pytest.mark.parametrize("type_", sorted(TYPES - TELLING))
def test_every_such_type_changes_the_record(type_: str) -> None:
    record = full_record()
    assert canonical(fold(record, type_, EXAMPLES[type_])) != canonical(record)


@pytest.mark.parametrize("type_", sorted(TELLING))
def test_what_only_tells_changes_nothing(type_: str) -> None:
    record = full_record()
    assert fold(record, type_, {"anything": 1}) is record


@pytest.mark.parametrize("type_", sorted(TYPES))
def test_folding_what_was_stored_gives_what_folding_the_original_gave(type_: str) -> None:
    body = EXAMPLES.get(type_, {})
    stored = orjson.loads(orjson.dumps(body))
    assert canonical(fold(full_record(), type_, stored)) == canonical(fold(full_record(), type_, body))


@pytest.mark.parametrize("type_", ["", "state.patched2", "STATE.PATCHED", "future.thing"])
def test_an_unknown_type_is_damage_and_never_skipped(type_: str) -> None:
    with pytest.raises(Damaged):
        fold(new_record(), type_, {})


def test_a_state_patch_that_does_not_fit_is_damage() -> None:
    with pytest.raises(Damaged):
        fold(new_record(), "state.patched", {"ops": [{"op": "remove", "path": "/n"}]})


def test_an_open_question_is_awaited_until_it_is_closed() -> None:
    record = fold(new_record(), "wait.opened", opened())
    assert list(record["execution"]["awaited"]) == ["w1"]
    assert fold(record, "wait.closed", closed())["execution"]["awaited"] == {}


def test_a_closed_question_becomes_an_approval_with_what_it_is_bound_to() -> None:
    record = fold_all(new_record(), [("wait.opened", opened(binds={"commit": "abc"})), ("wait.closed", closed())])
    assert record["control"]["approvals"] == {"w1": {"status": "approved", "by": "ann", "binds": {"commit": "abc"}}}


def test_a_question_that_was_asked_again_names_the_one_that_it_stands_for() -> None:
    record = fold(new_record(), "wait.opened", {**opened("w2"), "again_of": "w1"})
    assert record["execution"]["awaited"]["w2"]["again_of"] == "w1"
    assert fold(record, "wait.closed", closed("w2"))["control"]["approvals"]["w2"]["again_of"] == "w1"


def test_a_fired_timer_is_no_approval() -> None:
    record = fold_all(new_record(), [("wait.opened", opened(kind="timer")), ("wait.closed", closed(status="fired"))])
    assert record["control"]["approvals"] == {}


@pytest.mark.parametrize(("value", "status"), [("abc", "approved"), ("def", "void"), (None, "void")])
def test_an_approval_is_void_when_its_fact_moves(value: Any, status: str) -> None:
    record = fold_all(
        new_record(),
        [
            ("wait.opened", opened(binds={"commit": "abc"})),
            ("wait.closed", closed()),
            ("fact.observed", {"name": "commit", "value": value}),
        ],
    )
    assert record["control"]["approvals"]["w1"]["status"] == status


def test_a_fact_that_was_true_is_not_one_that_is_1() -> None:
    record = fold_all(
        new_record(),
        [
            ("wait.opened", opened(binds={"up": True})),
            ("wait.closed", closed()),
            ("fact.observed", {"name": "up", "value": 1}),
        ],
    )
    assert record["control"]["approvals"]["w1"]["status"] == "void"


def test_a_rejection_and_other_facts_are_not_touched() -> None:
    record = fold_all(
        new_record(),
        [
            ("wait.opened", opened("w1", binds={"commit": "abc"})),
            ("wait.closed", closed("w1", "rejected")),
            ("wait.opened", opened("w2", binds={"other": 1})),
            ("wait.closed", closed("w2")),
            ("fact.observed", {"name": "commit", "value": "def"}),
        ],
    )
    assert [a["status"] for a in record["control"]["approvals"].values()] == ["rejected", "approved"]


def test_an_awaited_effect_is_awaited_until_its_outcome() -> None:
    record = fold(new_record(), "effect.requested", requested())
    assert record["execution"]["awaited"]["e1"]["kind"] == "outcome"
    record = fold(record, "outcome.received", received())
    assert record["execution"]["awaited"] == {}
    assert record["observation"]["outcomes"] == [{"effect_id": "e1", "outcome": "delivered", "summary": "deploy"}]


def test_an_effect_without_continuation_is_not_awaited() -> None:
    assert fold(new_record(), "effect.requested", requested(then=""))["execution"]["awaited"] == {}


def test_an_asked_outcome_is_still_awaited_but_as_asked() -> None:
    record = fold_all(new_record(), [("effect.requested", requested()), ("outcome.asked", received())])
    assert record["execution"]["awaited"]["e1"]["kind"] == "asked"


def test_an_outcome_that_nobody_awaits_any_more_is_recorded_all_the_same() -> None:
    record = fold(new_record(), "outcome.received", received("late", "failed", "no"))
    assert record["observation"]["outcomes"][0]["effect_id"] == "late"
    assert record["observation"]["errors"] == ["no"]


def test_histories_are_bounded() -> None:
    entries: list[tuple[str, dict[str, Any]]] = []
    for n in range(100):
        entries += [("outcome.received", received(f"e{n}", "failed", f"error {n}"))]
        entries += [("wait.opened", opened(f"w{n}")), ("wait.closed", closed(f"w{n}"))]
    record = fold_all(new_record(), entries)
    assert [o["effect_id"] for o in record["observation"]["outcomes"]] == [f"e{n}" for n in range(100)][-OUTCOMES_MAX:]
    assert record["observation"]["errors"] == [f"error {n}" for n in range(100)][-ERRORS_MAX:]
    assert list(record["control"]["approvals"]) == [f"w{n}" for n in range(100)][-APPROVALS_MAX:]


def test_a_closed_turn_leaves_its_run_and_versions() -> None:
    record = fold(new_record(), "turn.closed", EXAMPLES["turn.closed"])
    assert record["execution"]["run"] == {"id": "t1"}
    assert (record["version"]["agent"], record["version"]["turn"]) == ("3", "t1")


def test_a_note_changes_only_what_it_names() -> None:
    record = fold(new_record(), "record.noted", {"phase": "build", "goal": {"aim": "ship"}})
    record = fold(record, "record.noted", {"plan_next": "test"})
    assert record["goal"] == {"aim": "ship"}
    assert (record["execution"]["phase"], record["execution"]["plan_next"]) == ("build", "test")


def test_the_canonical_spelling_does_not_depend_on_the_order_of_keys() -> None:
    assert canonical({"a": 1, "b": {"d": 1, "c": 2}}) == canonical({"b": {"c": 2, "d": 1}, "a": 1})
    assert checksum(canonical({"a": 1})) != checksum(canonical({"a": 1.0}))
