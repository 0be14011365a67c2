"""Compose: one closing commit from what a turn saw and decided; pure, and the record is the fold of its entries."""

import copy
from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from consumers.compose import Composed, compose
from consumers.drafting import TurnMeta, effect_id_for, turn_id_for
from consumers.intents import AskIntent, CallIntent, Intents, ReplyIntent, TimerIntent
from consumers.loaded import Loaded
from sessionstore.event import Event
from sessionstore.inbox import InboxRow
from sessionstore.leases import Receipt
from sessionstore.record import Record, canonical, checksum, new_record
from sessionstore.reducer import fold
from sessionstore.session import Status
from tests.unit.consumers.rows import ROUTE, answered, awaiting, ended, loaded, message, row

NOW = 1_800_000_000.0
CALL = CallIntent("tool:a.deploy", {"tool": "deploy"}, {"arguments": {"n": 1}}, "tool:a.deploy", "deploy(n=1)", "after")
ASK = AskIntent("Go?", "go", (), ("approve", "reject"), 60.0, False, ROUTE)

texts = st.text(max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-5, 5) | texts,
    lambda v: st.lists(v, max_size=3) | st.dictionaries(texts, v, max_size=3),
    max_leaves=8,
)
states = st.dictionaries(texts, json_values, max_size=4)
actions = st.one_of(
    st.builds(ReplyIntent, texts, st.sampled_from([ROUTE, None]), st.sampled_from(["", "after"])),
    st.builds(
        CallIntent,
        st.just("http"),
        st.just({"endpoint": "x"}),
        st.dictionaries(texts, json_values, max_size=2),
        st.just("http:x"),
        texts,
        st.sampled_from(["", "after"]),
        st.sampled_from([(), ("commit",)]),
    ),
    st.builds(
        AskIntent,
        texts,
        st.just("go"),
        st.sampled_from([(), ("commit", "missing")]),
        st.just(("yes", "no")),
        st.none() | st.floats(1, 100),
        st.booleans(),
        st.sampled_from([ROUTE, None]),
        json_values,
    ),
    st.builds(TimerIntent, st.floats(0, 100), st.just("wake"), json_values),
)
intents = st.builds(
    Intents,
    actions=st.lists(actions, max_size=5),
    noted=st.fixed_dictionaries({}, optional={"phase": texts, "plan_next": texts, "goal": st.just({"aim": "x"})}),
    observed=st.dictionaries(st.sampled_from(["commit", "db"]), json_values, max_size=2),
    set_aside=st.lists(texts, max_size=2),
    tokens=st.integers(0, 9),
    status=st.sampled_from(["", "completed", "failed"]),
    reason=texts,
)
RECORD = awaiting(w1={"kind": "approval", "binds": {"commit": "abc"}}, e1={"kind": "outcome", "then": "after"})
events = st.sampled_from(
    [message("hi"), answered("w1", binds={"commit": "abc"}), ended("e1"), ended("e1", "asked"), ended("gone", "failed")]
)


def meta(**changes: Any) -> TurnMeta:
    given_: dict[str, Any] = {
        "turn_id": "t1",
        "handler": "message",
        "agent_version": "3",
        "attempt": 1,
        "now": NOW,
        "seconds": 0.25,
        "route": ROUTE,
        "reply_to": ROUTE,
        **changes,
    }
    return TurnMeta(**given_)


def composed(
    *actions_: Any, before: Loaded | None = None, rows: list[InboxRow] | None = None, state: Any = None, **changes: Any
) -> Composed:
    decided = Intents(actions=list(actions_), **changes.pop("intents", {}))
    return compose(before or loaded(), rows or [row(7, message("hi"))], meta(**changes), decided, state)


def folded(record: Record, made: Composed) -> Record:
    for entry in made.commit.entries:
        record = fold(record, entry.type, orjson.loads(orjson.dumps(entry.body)))
    return record


def types(made: Composed) -> list[str]:
    return [entry.type for entry in made.commit.entries]


@given(intents, states, states, events)
def test_the_record_is_the_fold_of_the_entries_as_stored(decided: Any, old: Any, new: Any, event: Event) -> None:
    record = {**copy.deepcopy(RECORD), "state": old}
    made = compose(loaded(record), [row(7, event)], meta(), decided, new)
    assert canonical(folded(record, made)) == made.commit.record == canonical(made.record)


@given(intents, states, events)
def test_the_last_entry_names_the_checksum_of_the_record_up_to_there(decided: Any, new: Any, event: Event) -> None:
    made = compose(loaded(RECORD), [row(7, event)], meta(), decided, new)
    last = made.commit.entries[-1]
    assert last.type == "turn.closed"
    assert last.body["sha256"] == made.commit.record_sha256 == checksum(canonical(folded(RECORD, made)))


@given(intents, states)
def test_the_same_turn_composes_to_the_same_commit_and_changes_nothing_it_was_given(decided: Any, new: Any) -> None:
    before, given_ = loaded(RECORD), copy.deepcopy((RECORD, decided, new))
    first = compose(before, [row(7)], meta(), decided, new)
    assert compose(before, [row(7)], meta(), decided, new) == first
    assert (before.record, decided, new) == given_


@given(st.lists(actions, max_size=8))
def test_every_effect_and_wait_has_an_id_of_its_own(decided: list[Any]) -> None:
    made = composed(*decided)
    ids = [e.effect_id for e in made.commit.effects] + [w.wait_id for w in made.commit.waits]
    assert len(ids) == len(set(ids))


def test_ids_come_from_session_turn_and_ordinal_alone() -> None:
    first, again = composed(CALL, CALL), composed(CALL, CALL, now=NOW + 99, attempt=4, seconds=7.0)
    assert [e.effect_id for e in first.commit.effects] == [e.effect_id for e in again.commit.effects]
    assert [e.effect_id for e in first.commit.effects] == [effect_id_for("t1", 0), effect_id_for("t1", 1)]
    other = composed(CALL, turn_id="t2")
    assert other.commit.effects[0].effect_id not in {e.effect_id for e in first.commit.effects}


def test_a_turns_id_differs_by_tenant_session_epoch_and_event() -> None:
    one = loaded()
    heads = [one.head, *(replace(one.head, **change) for change in ({"tenant": "b"}, {"session": "s"}, {"epoch": 1}))]
    ids = {turn_id_for(replace(one, head=head), row(pos)) for head in heads for pos in (7, 8)}
    assert len(ids) == 8
    assert turn_id_for(one, row(7, message("x"))) == turn_id_for(one, row(7, message("y")))


def test_entries_tell_in_order_what_came_in_was_learnt_changed_and_goes_out() -> None:
    made = composed(
        ReplyIntent("hi", ROUTE),
        CALL,
        ASK,
        before=loaded(receipts=(Receipt(3, "e0", "delivered", "r", ""),)),
        state={"n": 1},
        intents={"observed": {"commit": "abc"}, "noted": {"phase": "build"}},
    )
    assert types(made) == [
        "message.in",
        "effects.settled",
        "fact.observed",
        "state.patched",
        "record.noted",
        "message.out",
        "effect.requested",
        "wait.opened",
        "message.out",
        "turn.closed",
    ]


def test_a_state_that_did_not_change_writes_nothing() -> None:
    record = {**new_record(), "state": {"n": 1}}
    assert "state.patched" not in types(composed(before=loaded(record), state={"n": 1}))
    assert "state.patched" in types(composed(before=loaded(record), state={"n": 1.0}))


def test_a_fact_that_did_not_move_writes_nothing() -> None:
    record = new_record()
    record["observation"]["facts"] = {"commit": "abc"}
    same, moved = ({"observed": {"commit": v}} for v in ("abc", "def"))
    assert "fact.observed" not in types(composed(before=loaded(record), intents=same))
    made = composed(before=loaded(record), intents=moved)
    [entry] = [e for e in made.commit.entries if e.type == "fact.observed"]
    assert entry.body == {"name": "commit", "value": "def", "was": "abc"}


def test_a_question_is_a_wait_and_a_message_and_keeps_its_route() -> None:
    made = composed(ASK)
    [wait], [effect] = made.commit.waits, made.commit.effects
    assert (wait.kind, wait.then, wait.question, wait.expires_at, wait.route) == (
        "approval",
        "go",
        "Go?",
        NOW + 60,
        ROUTE,
    )
    assert effect.body["wait_id"] == wait.wait_id
    assert effect.effect_id != wait.wait_id
    assert made.commit.status is Status.WAITING
    assert made.commit.run_id == ""


def test_what_an_approval_and_a_call_are_bound_to_are_the_facts_as_last_seen() -> None:
    bound = replace(CALL, binds=("commit",))
    made = composed(replace(ASK, binds=("commit",)), bound, intents={"observed": {"commit": "abc"}}, approval="w0")
    assert made.commit.waits[0].binds == {"commit": "abc"}
    assert made.commit.effects[1].binds == {"commit": "abc"}
    assert made.commit.effects[1].approval == "w0"


def test_without_a_route_a_reply_stays_in_the_transcript() -> None:
    made = composed(ReplyIntent("hi", None))
    assert made.commit.effects == ()
    assert "message.out" in types(made)


def test_an_awaited_outcome_opens_a_run_and_its_last_outcome_closes_it() -> None:
    made = composed(CALL)
    assert made.commit.run_id == "t1"
    assert made.record["execution"]["run"]["effects"] == 1
    effect_id = made.commit.effects[0].effect_id
    again = composed(CALL, before=loaded(made.record), rows=[row(8, ended(effect_id))], turn_id="t2")
    assert again.commit.run_id == "t1"
    assert again.record["execution"]["run"]["turns"] == 2
    last = composed(before=loaded(again.record), rows=[row(9, ended(again.commit.effects[0].effect_id))], turn_id="t3")
    assert last.commit.run_id == ""
    assert last.commit.status is Status.ACTIVE


def test_one_that_a_person_has_to_tell_holds_its_run_open_no_longer() -> None:
    made = composed(CALL)
    effect_id = made.commit.effects[0].effect_id
    asked = composed(before=loaded(made.record), rows=[row(8, ended(effect_id, "asked"))], turn_id="t2")
    assert asked.commit.run_id == ""
    assert asked.commit.status is Status.WAITING


def test_a_waiting_question_does_not_hold_a_run_open() -> None:
    assert composed(ASK).commit.run_id == ""


def test_totals_grow_and_receipts_are_absorbed() -> None:
    receipts = (Receipt(3, "e0", "delivered", "r", ""), Receipt(5, "e1", "failed", "", "no"))
    made = composed(before=loaded(receipts=receipts), intents={"tokens": 5, "cost": 0.5})
    totals = made.commit.totals
    assert (totals.turns, totals.tokens, totals.cost, totals.seconds) == (4, 15, 1.0, 1.25)
    assert made.commit.absorbed == (3, 5)


def test_a_turn_given_up_is_dead_with_its_reason() -> None:
    made = composed(ReplyIntent("Sorry", ROUTE), failure="ValueError: no", dead=True, attempt=5)
    assert made.commit.dead_reason == "ValueError: no"
    assert "turn.failed" in types(made)
    assert made.record["observation"]["errors"] == ["ValueError: no"]


def test_a_message_to_a_completed_session_makes_it_active_again() -> None:
    record = {**new_record(), "status": "completed", "reason": "done"}
    made = composed(before=loaded(record))
    assert made.commit.status is Status.ACTIVE
    assert made.record["status"] == "active"


def test_the_commit_goes_against_the_head_that_was_loaded() -> None:
    made = composed(rows=[row(7), row(8)])
    assert (made.commit.version, made.commit.first_seq, made.commit.members) == (3, 11, (7, 8))
