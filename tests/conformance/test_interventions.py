"""Operator actions on whole sessions: each whole or not at all, once, and the owner of before is set aside."""

from dataclasses import replace
from typing import Any

import pytest

from sessionstore.commit import Committed, Entry, FenceRefused
from sessionstore.effect import EffectState, Settlement
from sessionstore.event import Kind, Rank
from sessionstore.inbox import SessionRef
from sessionstore.intervention import AlreadyIntervened, Intervened, Intervention, Moved, NewSession
from sessionstore.operations import TrailLine
from sessionstore.record import canonical, checksum, new_record
from sessionstore.session import Status
from sessionstore.store import Store
from sessionstore.wait import Wait
from tests.conformance.places import ManualClock
from tests.conformance.samples import (
    KEY,
    REF,
    TENANT,
    acquire,
    claim_one,
    closing,
    effect,
    event,
    intend,
    put,
    run_turn,
    state_of,
    traces,
)


async def action(store: Store, operation_id: str = "op1", **changes: Any) -> Intervention:
    """An action decided on the session as it is."""
    head = await store.reads.session(REF)
    assert head is not None
    record = canonical({**new_record(), "reason": operation_id})
    given: dict[str, Any] = {
        "ref": REF,
        "version": head["version"],
        "first_seq": head["seq"] + 1,
        "entries": (Entry("operator.acted", {"by": "ann"}), Entry("operator.closed", {"by": "ann"})),
        "status": Status.ACTIVE,
        "epoch": head["epoch"],
        "trail": TrailLine(TENANT, "ann", "session.test", KEY),
        **changes,
    }
    return Intervention(operation_id=operation_id, record=record, record_sha256=checksum(record), **given)


async def do(store: Store, item: Intervention) -> Intervened:
    [result] = await store.interventions.intervene([item])
    assert isinstance(result, Intervened), result
    return result


async def test_it_writes_transcript_record_and_checkpoint_together(store: Store) -> None:
    await put(store, "m1")
    await run_turn(store)
    done = await do(store, await action(store))
    types = [row["type"] for row in await store.reads.transcript(REF)]
    assert types[-2:] == ["operator.acted", "operator.closed"]
    record = await store.reads.record(REF)
    checkpoint = await store.reads.checkpoint(REF, done.seq)
    assert record is not None
    assert record == checkpoint
    assert record[0] == done.seq
    assert [line["action"] for line in await store.reads.trail()] == ["session.test"]


async def test_the_owner_of_before_cannot_commit(store: Store) -> None:
    await put(store, "m1")
    held = await acquire(store)
    await do(store, await action(store))
    before = await traces(store)
    [result] = await store.commits.commit([closing(held)])
    assert isinstance(result, FenceRefused)
    assert await traces(store) == before
    assert await store.leases.renew([held.lease], 30.0) == [False]
    # Its row runs under whoever takes the session next.
    again = await acquire(store, owner="w2")
    assert not again.took_over
    [committed] = await store.commits.commit([closing(again)])
    assert isinstance(committed, Committed)


async def test_what_was_decided_on_an_older_version_is_refused_without_a_trace(store: Store) -> None:
    await put(store, "m1")
    item = await action(store, drop_queued="gone", events=(event("told"),))
    await run_turn(store)
    before = await traces(store)
    [result] = await store.interventions.intervene([item])
    assert result == Moved(before["head"]["version"])
    assert await traces(store) == before


async def test_the_same_action_again_is_done_once(store: Store) -> None:
    await put(store, "m1")
    item = await action(store, events=(event("told"),))
    await do(store, item)
    before = await traces(store)
    [result] = await store.interventions.intervene([item])
    assert result == AlreadyIntervened("op1")
    assert await traces(store) == before


async def test_a_session_that_is_not_there_is_not_made(store: Store) -> None:
    await put(store, "m1")
    item = replace(await action(store), ref=SessionRef(TENANT, "agent:a/dm:none"))
    assert await store.interventions.intervene([item]) == [Moved(0)]
    assert await store.reads.session(item.ref) is None


@pytest.mark.parametrize(("state", "after"), [("pending", "cancelled"), ("sending", "sending"), ("unknown", "unknown")])
async def test_what_is_withdrawn_is_cancelled_unless_it_may_be_out(
    store: Store, clock: ManualClock, state: str, after: str
) -> None:
    await intend(store, effect("f1", then="after"))
    if state != "pending":
        await claim_one(store)
    if state == "unknown":
        clock.advance(31)
        assert await store.outbox.claim(["fake"], 10, 30.0) == []
    done = await do(store, await action(store, withdraw=("f1",)))
    assert [(w.was.value, w.state.value) for w in done.withdrawn] == [(state, after)]
    assert await state_of(store, "f1") == after
    row = await store.reads.effect("f1")
    assert row is not None
    assert row["unwanted"] == 1
    clock.advance(3600)
    assert await store.outbox.claim(["fake"], 10, 30.0) == []


async def test_what_ends_after_it_was_withdrawn_is_recorded_and_told_to_nobody(store: Store) -> None:
    await intend(store, effect("f1", then="after"))
    claimed = await claim_one(store)
    await do(store, await action(store, withdraw=("f1",)))
    assert await store.outbox.settle([Settlement(claimed, EffectState.DELIVERED, receipt="r")]) == [True]
    assert await state_of(store, "f1") == "delivered"
    assert await store.inbox.queued(REF, 10) == []


async def test_what_was_under_way_and_did_nothing_is_not_tried_again(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("f1"), effect("f2"))
    claimed = await claim_one(store)
    await do(store, await action(store, withdraw=("f1",)))
    await store.outbox.settle([Settlement(claimed, EffectState.RETRY, due=0.0)])
    assert await state_of(store, "f1") == "cancelled"
    # The lane goes on with the next one.
    assert (await claim_one(store)).effect.effect_id == "f2"


async def test_the_lane_goes_on_behind_a_cancelled_head(store: Store) -> None:
    await intend(store, effect("f1"), effect("f2"))
    await do(store, await action(store, withdraw=("f1",)))
    assert (await claim_one(store)).effect.effect_id == "f2"


async def test_dropped_rows_are_kept_with_their_reason_and_run_nothing(store: Store) -> None:
    await put(store, "m1", "m2")
    done = await do(store, await action(store, drop_queued="reset by ann", epoch=1))
    assert done.dropped == 2
    assert {row["reason"] for row in await store.reads.dropped(TENANT)} == {"reset by ann"}
    held = await acquire(store)
    assert (held.next_pos, held.head.epoch) == (0, 1)
    await store.leases.release([held.lease])
    await put(store, "m3")
    [row] = await store.inbox.queued(REF, 10)
    assert row.epoch == 1


async def test_only_an_event_under_way_is_dropped_as_the_current_one(store: Store) -> None:
    await put(store, "m1", "m2")
    assert (await do(store, await action(store, drop_current="cancelled"))).dropped == 0
    await acquire(store)
    assert (await do(store, await action(store, "op2", drop_current="cancelled"))).dropped == 1
    assert [row.event.id for row in await store.inbox.queued(REF, 10)] == ["m2"]


async def test_events_effects_and_waits_come_with_it(store: Store) -> None:
    await put(store, "m1")
    await run_turn(store)
    asked = Wait("w1", "approval", "then", question="Sure?")
    await do(store, await action(store, events=(event("told"),), effects=(effect("f1"),), waits=(asked,)))
    assert [row.event.id for row in await store.inbox.queued(REF, 10)] == ["told"]
    assert await state_of(store, "f1") == "pending"
    [wait] = await store.reads.waits(TENANT)
    assert wait["wait_id"] == "w1"
    await do(store, await action(store, "op2", close_waits=("w1",)))
    closed = await store.waits.get("w1")
    assert closed is not None
    assert closed["status"] == "cancelled"


async def test_a_paused_session_is_not_runnable_until_it_is_active_again(store: Store) -> None:
    await put(store, "m1")
    await do(store, await action(store, status=Status.PAUSED))
    assert await store.inbox.runnable(["a"], 10) == []
    await put(store, "m2")
    assert await store.inbox.runnable(["a"], 10) == []
    await do(store, await action(store, "op2"))
    assert await store.inbox.runnable(["a"], 10) == [REF]


async def test_while_a_person_answers_only_what_comes_in_runs(store: Store) -> None:
    await put(store, "m1")
    await run_turn(store)
    outcome = event("o1", kind=Kind.OUTCOME, rank=Rank.RUN)
    await do(store, await action(store, person="ann", events=(outcome,)))
    held = await acquire(store)
    assert held.next_pos == 0
    await store.leases.release([held.lease])
    [row] = await put(store, "m2")
    held = await acquire(store)
    assert held.next_pos == row.row.pos
    await store.leases.release([held.lease])
    await do(store, await action(store, "op2"))
    held = await acquire(store)
    assert held.next_pos < row.row.pos


async def test_a_new_session_begins_with_the_others_past(store: Store) -> None:
    await put(store, "m1")
    await run_turn(store)
    await put(store, "m2")
    second = await run_turn(store)
    first_seq = 1
    target = SessionRef(TENANT, "agent:a/dm:fork")
    base = await action(store)
    item = replace(
        base, ref=target, version=0, first_seq=first_seq + 1, epoch=0, begins=NewSession(REF, first_seq, "a")
    )
    done = await do(store, item)
    mine = await store.reads.transcript(target)
    theirs = await store.reads.transcript(REF)
    assert [row["seq"] for row in mine] == [1, 2, 3]
    assert mine[0]["body"] == theirs[0]["body"]
    assert (done.seq, second.seq) == (3, 2)
    assert await store.interventions.intervene([replace(item, operation_id="op2")]) == [Moved(1)]
    head = await store.reads.session(target)
    assert head is not None
    assert (head["agent"], head["seq"], head["version"]) == ("a", 3, 1)


async def test_neighbours_in_a_batch_do_not_disturb_each_other(store: Store) -> None:
    await put(store, "m1")
    good = await action(store)
    stale = replace(good, operation_id="op2", version=99)
    results = await store.interventions.intervene([stale, good])
    assert isinstance(results[0], Moved)
    assert isinstance(results[1], Intervened)
