"""The session store: a closing commit is everything or nothing, fenced, and recognised when it comes again."""

import asyncio
from typing import Any

import pytest

from sessionstore.commit import (
    AlreadyProcessed,
    CommitResult,
    Committed,
    Entry,
    FenceRefused,
    SessionStore,
    TurnCommit,
    VersionConflict,
)
from sessionstore.effect import EffectState, Settlement
from sessionstore.errors import Damaged, StoreError
from sessionstore.groupcommit import GroupCommit
from sessionstore.leases import Held
from sessionstore.session import Status, Totals
from sessionstore.store import Store
from sessionstore.wait import Wait
from tests.conformance.places import ManualClock, Place
from tests.conformance.samples import (
    KEY,
    REF,
    TENANT,
    acquire,
    closing,
    effect,
    put,
    ref,
    state_of,
    traces,
)


async def one(commits: SessionStore, turn: TurnCommit) -> CommitResult:
    [result] = await commits.commit([turn])
    return result


def full(held: Held, **changes: Any) -> TurnCommit:
    """A turn that writes to every table that a closing commit may write to."""
    given: dict[str, Any] = {
        "entries": (Entry("message.in", {"text": "hello"}), Entry("message.out", {"text": "hi"})),
        "effects": (effect(f"{held.lease.ref.session}-e1"), effect(f"{held.lease.ref.session}-e2", "http")),
        "waits": (Wait(f"{held.lease.ref.session}-w1", "approval", "go", "Go?"),),
        "snapshot": True,
        "reply_route": {"adapter": "fake", "lane": "x"},
        **changes,
    }
    return closing(held, **given)


async def test_all_parts_of_a_turn_are_there_after_its_commit(commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    held = await acquire(store)
    turn = full(held, totals=Totals(1, 20, 0.5, 2.0), status=Status.WAITING)
    assert await one(commits, turn) == Committed(version=1, seq=2, next_pos=0, next_due=None)
    head = await store.reads.session(REF)
    assert head is not None
    assert (head["version"], head["seq"], head["status"], head["last_turn"]) == (1, 2, "waiting", turn.turn_id)
    assert (head["turns"], head["tokens"], head["cost"], head["seconds"]) == (1, 20, 0.5, 2.0)
    assert head["reply_route"] == {"adapter": "fake", "lane": "x"}
    assert [(e["seq"], e["type"]) for e in await store.reads.transcript(REF)] == [(1, "message.in"), (2, "message.out")]
    assert await store.reads.record(REF) == (2, turn.record, turn.record_sha256)
    assert await store.reads.checkpoint(REF, 2) == (2, turn.record, turn.record_sha256)
    assert [e["state"] for e in await store.reads.effects(TENANT)] == ["pending", "pending"]
    assert [w["status"] for w in await store.reads.waits(TENANT)] == ["open"]
    assert await store.inbox.queued(REF, 10) == []


async def test_a_committed_turn_survives_reopening(place: Place, commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    await one(commits, full(await acquire(store)))
    before = await traces(store)
    store = await place.reopen(store)
    assert await traces(store) == before


async def test_a_stale_fence_is_refused_without_a_trace(
    commits: SessionStore, store: Store, clock: ManualClock
) -> None:
    await put(store, "a")
    stale = await acquire(store)
    clock.advance(31)
    fresh = await acquire(store)
    before = await traces(store)
    assert await one(commits, full(stale)) == FenceRefused(fresh.lease.fence)
    assert await traces(store) == before


@pytest.mark.parametrize("part", ["nonce", "fence"])
async def test_the_fence_and_the_nonce_are_both_checked(commits: SessionStore, store: Store, part: str) -> None:
    await put(store, "a")
    held = await acquire(store)
    lease = {"nonce": held.lease.nonce, "fence": held.lease.fence}
    lease[part] = "another" if part == "nonce" else held.lease.fence + 1
    forged = type(held.lease)(REF, str(lease["nonce"]), int(lease["fence"]), held.lease.until)
    before = await traces(store)
    turn = full(Held(forged, held.head, held.record, held.next_pos, None, (), None, False))
    assert isinstance(await one(commits, turn), FenceRefused)
    assert await traces(store) == before


async def test_a_released_lease_cannot_commit(commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    held = await acquire(store)
    await store.leases.release([held.lease])
    assert isinstance(await one(commits, full(held)), FenceRefused)


async def test_a_session_that_does_not_exist_refuses_by_fence(commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    held = await acquire(store)
    lost = type(held.lease)(ref(99), held.lease.nonce, held.lease.fence, held.lease.until)
    turn = closing(Held(lost, held.head, held.record, held.next_pos, None, (), None, False))
    assert isinstance(await one(commits, turn), FenceRefused)


async def test_a_late_owner_whom_nobody_replaced_may_still_commit(
    commits: SessionStore, store: Store, clock: ManualClock
) -> None:
    await put(store, "a")
    held = await acquire(store)
    clock.advance(31)
    assert isinstance(await one(commits, full(held)), Committed)


@pytest.mark.parametrize("change", [{"version": 7}, {"first_seq": 5}])
async def test_a_head_that_moved_on_is_a_version_conflict_without_a_trace(
    commits: SessionStore, store: Store, change: dict[str, int]
) -> None:
    await put(store, "a")
    held = await acquire(store)
    right = full(held)
    wrong = TurnCommit(**{**{n: getattr(right, n) for n in right.__dataclass_fields__}, **change})
    before = await traces(store)
    assert await one(commits, wrong) == VersionConflict(0)
    assert await traces(store) == before
    assert isinstance(await one(commits, right), Committed)


async def test_the_same_commit_again_is_already_processed_and_writes_nothing(
    commits: SessionStore, store: Store
) -> None:
    await put(store, "a")
    turn = full(await acquire(store))
    await one(commits, turn)
    before = await traces(store)
    assert await one(commits, turn) == AlreadyProcessed(turn.turn_id)
    assert await traces(store) == before


async def test_the_same_commit_after_reopening_is_already_processed(
    place: Place, commits: SessionStore, store: Store
) -> None:
    await put(store, "a")
    turn = full(await acquire(store))
    await one(commits, turn)
    before = await traces(store)
    store = await place.reopen(store)
    assert await one(store.commits, turn) == AlreadyProcessed(turn.turn_id)
    assert await traces(store) == before


async def test_refused_turns_do_not_disturb_their_neighbours(
    commits: SessionStore, store: Store, clock: ManualClock
) -> None:
    for n in range(1, 6):
        await put(store, f"e{n}", session=ref(n).session)
    stale = await acquire(store, ref(2))
    clock.advance(31)
    held = {n: await acquire(store, ref(n)) for n in range(1, 6)}
    done = full(held[4])
    await one(commits, done)
    moved = closing(held[3])
    moved = TurnCommit(**{**{n: getattr(moved, n) for n in moved.__dataclass_fields__}, "version": 9})
    results = await commits.commit([full(held[1]), full(stale), moved, done, full(held[5])])
    assert [type(r) for r in results] == [Committed, FenceRefused, VersionConflict, AlreadyProcessed, Committed]
    assert len(await store.reads.effects(TENANT, limit=100)) == 6


async def test_a_damaged_turn_leaves_no_trace(commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    held = await acquire(store)
    before = await traces(store)
    with pytest.raises(Damaged):
        await one(commits, full(held, members=(held.next_pos, 4711)))
    assert await traces(store) == before
    assert isinstance(await one(commits, full(held)), Committed)


async def test_giving_up_a_row_that_is_not_there_is_damaged(commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    held = await acquire(store)
    with pytest.raises(Damaged):
        await one(commits, full(held, members=(4711,), dead_reason="it failed"))


async def test_of_a_batch_with_a_damaged_turn_nothing_is_written(store: Store) -> None:
    await put(store, "a", session=ref(1).session)
    await put(store, "b", session=ref(2).session)
    good, bad = await acquire(store, ref(1)), await acquire(store, ref(2))
    before = await traces(store, ref(1))
    with pytest.raises(Damaged):
        await store.commits.commit([full(good), full(bad, members=(4711,))])
    assert await traces(store, ref(1)) == before


async def test_grouped_a_damaged_turn_fails_alone(store: Store) -> None:
    commits = GroupCommit(store.commits)
    for n in range(6):
        await put(store, f"e{n}", session=ref(n).session)
    held = [await acquire(store, ref(n)) for n in range(6)]
    turns = [full(h, **({"members": (4711,)} if n == 3 else {})) for n, h in enumerate(held)]
    results = await asyncio.gather(*(one(commits, turn) for turn in turns), return_exceptions=True)
    assert [type(r) for r in results] == [Committed] * 3 + [Damaged] + [Committed] * 2


async def test_grouped_one_call_with_a_damaged_turn_commits_its_neighbours(store: Store) -> None:
    commits = GroupCommit(store.commits)
    for n in range(3):
        await put(store, f"e{n}", session=ref(n).session)
    held = [await acquire(store, ref(n)) for n in range(3)]
    turns = [full(h, **({"members": (4711,)} if n != 1 else {})) for n, h in enumerate(held)]
    with pytest.raises(Damaged):
        await commits.commit(turns)
    assert await one(commits, turns[1]) == AlreadyProcessed(turns[1].turn_id)


async def test_a_turn_whose_effect_id_is_taken_leaves_no_trace(commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    await put(store, "b", session=ref(2).session)
    await one(commits, closing(await acquire(store), effects=(effect("same"),)))
    held = await acquire(store, ref(2))
    before = await traces(store, ref(2))
    with pytest.raises(StoreError):
        await one(commits, closing(held, effects=(effect("other"), effect("same"))))
    assert await traces(store, ref(2)) == before


async def test_many_sessions_commit_at_once_and_each_result_is_its_own(commits: SessionStore, store: Store) -> None:
    for n in range(40):
        await put(store, f"e{n}", session=ref(n).session)
    held = [await acquire(store, ref(n)) for n in range(40)]
    turns = [full(h, entries=(Entry("message.in", {}),) * (n + 1)) for n, h in enumerate(held)]
    results = await asyncio.gather(*(one(commits, turn) for turn in turns))
    assert [r.seq for r in results if isinstance(r, Committed)] == list(range(1, 41))


async def test_a_commit_names_the_next_row_and_when_it_is_due(
    commits: SessionStore, store: Store, clock: ManualClock
) -> None:
    _, second = await put(store, "a", "b")
    held = await acquire(store)
    result = await one(commits, closing(held))
    assert isinstance(result, Committed)
    assert result.next_pos == second.row.pos
    assert result.next_due is not None
    assert result.next_due <= clock.now()


async def test_a_commit_settles_exactly_its_members(commits: SessionStore, store: Store) -> None:
    rows = await put(store, "a", "b", "c")
    held = await acquire(store)
    await one(commits, closing(held, members=[rows[0].row.pos, rows[1].row.pos]))
    assert [r.event.id for r in await store.inbox.queued(REF, 10)] == ["c"]


async def test_a_commit_lengthens_the_lease(commits: SessionStore, store: Store, clock: ManualClock) -> None:
    await put(store, "a", "b")
    held = await acquire(store)
    clock.advance(25)
    await one(commits, closing(held))
    clock.advance(25)
    assert await store.leases.renew([held.lease], 30.0) == [True]


async def test_a_turn_given_up_leaves_its_event_as_a_dead_letter(commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    await one(commits, closing(await acquire(store), dead_reason="ValueError: no"))
    [dead] = await store.reads.dead(TENANT)
    assert (dead["event_id"], dead["reason"], dead["session"]) == ("a", "ValueError: no", KEY)
    assert b'"text":"a"' in dead["raw"]
    assert await store.inbox.runnable(["a"], 10) == []


async def test_a_redriven_event_runs_again_as_a_turn_of_its_own(commits: SessionStore, store: Store) -> None:
    [first] = await put(store, "a")
    held = await acquire(store)
    await one(commits, closing(held, turn_id=f"turn-{first.row.pos}", dead_reason="no"))
    await store.leases.release([held.lease])
    [dead] = await store.reads.dead(TENANT)
    assert await store.operations.redrive(dead["dead_id"], "op") == KEY
    assert await store.inbox.runnable(["a"], 10) == [REF]
    again = await acquire(store)
    [row] = await store.inbox.queued(REF, 10)
    assert (row.event.id, row.pos) == ("a", again.next_pos)
    # Turn and effect ids are made from the position, so a new run needs a new one.
    assert again.next_pos > first.row.pos
    assert again.head.tail == again.next_pos
    assert isinstance(await one(commits, closing(again, turn_id=f"turn-{again.next_pos}")), Committed)


async def test_an_event_that_died_twice_is_two_dead_letters(commits: SessionStore, store: Store) -> None:
    await put(store, "a")
    for n in range(2):
        held = await acquire(store)
        await one(commits, closing(held, turn_id=f"turn-{held.next_pos}", dead_reason=f"reason {n}"))
        await store.leases.release([held.lease])
        if n == 0:
            [dead] = await store.reads.dead(TENANT)
            await store.operations.redrive(dead["dead_id"], "op")
    states = {d["reason"]: d["state"] for d in await store.reads.dead(TENANT)}
    assert states == {"reason 0": "redriven", "reason 1": "dead"}


async def test_closed_waits_are_cancelled_in_the_commit(commits: SessionStore, store: Store) -> None:
    await put(store, "a", "b")
    held = await acquire(store)
    await one(commits, closing(held, waits=(Wait("w1", "approval", "go"), Wait("w2", "approval", "go"))))
    await store.leases.release([held.lease])
    await one(commits, closing(await acquire(store), close_waits=("w1",)))
    assert {w["wait_id"]: w["status"] for w in await store.reads.waits(TENANT, status="")} == {
        "w1": "cancelled",
        "w2": "open",
    }


async def test_a_receipt_is_offered_until_a_commit_absorbs_it(commits: SessionStore, store: Store) -> None:
    await put(store, "a", "b", "c")
    held = await acquire(store)
    await one(commits, closing(held, effects=(effect("e1"),)))
    await store.leases.release([held.lease])
    [claimed] = await store.outbox.claim(["fake"], 1, 30.0)
    await store.outbox.settle([Settlement(claimed, EffectState.DELIVERED, receipt="r1")])
    held = await acquire(store)
    [receipt] = held.receipts
    assert (receipt.effect_id, receipt.state, receipt.receipt) == ("e1", "delivered", "r1")
    result = await one(commits, closing(held, absorbed=(receipt.pos,)))
    assert isinstance(result, Committed)
    assert result.receipts == ()
    assert await state_of(store, "e1") == "delivered"
