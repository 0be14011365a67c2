"""Row leases: at most one owner, a fence that only grows, a nonce for each acquisition."""

import asyncio

import pytest

from sessionstore.commit import Committed, FenceRefused, RecordCommit
from sessionstore.errors import FenceLost
from sessionstore.event import Rank
from sessionstore.inbox import Accepted
from sessionstore.leases import Busy, Gone, Held, StepRecord
from sessionstore.store import Store
from tests.conformance.places import ManualClock, Place
from tests.conformance.samples import REF, acquire, closing, effect, intend, new, put, ref, run_turn


async def test_of_many_takers_one_gets_the_lease(store: Store) -> None:
    await put(store, "a")
    results = await asyncio.gather(*(store.leases.acquire([REF], f"w{n}", 30.0) for n in range(20)))
    assert sorted(type(r).__name__ for [r] in results) == ["Busy"] * 19 + ["Held"]


async def test_of_takers_in_two_processes_one_gets_the_lease(place: Place, store: Store) -> None:
    other = place.open()
    await put(store, "a")
    results = await asyncio.gather(*(s.leases.acquire([REF], "w", 30.0) for s in [store, other] * 5))
    assert sorted(type(r).__name__ for [r] in results) == ["Busy"] * 9 + ["Held"]


async def test_a_busy_session_says_until_when(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    await acquire(store)
    assert await store.leases.acquire([REF], "w2", 30.0) == [Busy(REF, clock.now() + 30.0)]


async def test_an_unknown_session_is_gone(store: Store) -> None:
    assert await store.leases.acquire([REF], "w1", 30.0) == [Gone(REF)]


async def test_one_call_takes_many_and_answers_in_order(store: Store) -> None:
    await put(store, "a", session=ref(1).session)
    await put(store, "b", session=ref(3).session)
    results = await store.leases.acquire([ref(1), ref(2), ref(3)], "w1", 30.0)
    assert [type(r) for r in results] == [Held, Gone, Held]


async def test_each_takeover_raises_the_fence_and_has_a_fresh_nonce(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    first = await acquire(store)
    clock.advance(31)
    second = await acquire(store)
    assert second.lease.fence > first.lease.fence
    assert second.lease.nonce != first.lease.nonce


async def test_the_fence_grows_across_release_and_reopening(place: Place, store: Store) -> None:
    await put(store, "a")
    first = await acquire(store)
    await store.leases.release([first.lease])
    store = await place.reopen(store)
    second = await acquire(store)
    assert second.lease.fence > first.lease.fence


async def test_a_run_out_lease_is_taken_over_and_that_is_said(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    assert not (await acquire(store)).took_over
    clock.advance(31)
    assert (await acquire(store)).took_over


async def test_a_released_lease_is_no_takeover(store: Store) -> None:
    await put(store, "a")
    first = await acquire(store)
    await store.leases.release([first.lease])
    assert not (await acquire(store)).took_over


async def test_renewing_keeps_others_out(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    held = await acquire(store)
    clock.advance(20)
    assert await store.leases.renew([held.lease], 30.0) == [True]
    clock.advance(20)
    [busy] = await store.leases.acquire([REF], "w2", 30.0)
    assert isinstance(busy, Busy)


async def test_a_run_out_lease_cannot_be_renewed_even_if_nobody_took_it(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    held = await acquire(store)
    clock.advance(31)
    assert await store.leases.renew([held.lease], 30.0) == [False]
    assert isinstance((await store.leases.acquire([REF], "w2", 30.0))[0], Held)


async def test_a_lease_that_was_taken_over_cannot_be_renewed(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    stale = await acquire(store)
    clock.advance(31)
    fresh = await acquire(store)
    assert await store.leases.renew([stale.lease, fresh.lease], 30.0) == [False, True]


async def test_releasing_a_stale_lease_does_not_free_the_new_owners(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    stale = await acquire(store)
    clock.advance(31)
    await acquire(store)
    await store.leases.release([stale.lease])
    [busy] = await store.leases.acquire([REF], "w3", 30.0)
    assert isinstance(busy, Busy)


async def test_a_stale_lease_of_the_same_worker_is_refused(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    stale = await acquire(store, owner="w1")
    clock.advance(31)
    fresh = await acquire(store, owner="w1")
    [refused] = await store.commits.commit([closing(stale)])
    assert isinstance(refused, FenceRefused)
    with pytest.raises(FenceLost):
        await store.leases.attempt(stale.lease, stale.next_pos)
    assert await store.commits.record([RecordCommit(stale.lease, "t", (1,), "1", ())]) == [False]
    assert isinstance((await store.commits.commit([closing(fresh)]))[0], Committed)


async def test_taking_the_lease_loads_what_is_needed_to_run(store: Store) -> None:
    await intend(store, effect("e1"))
    [claimed] = await store.outbox.claim(["fake"], 1, 30.0)
    await put(store, "b")
    held = await acquire(store)
    assert (held.head.version, held.head.seq, held.head.last_turn) == (1, 1, f"{REF.session}@0")
    assert held.record
    assert held.next_pos > 0
    assert claimed.effect.effect_id == "e1"
    assert held.receipts == ()


async def test_an_unfinished_turns_journal_comes_with_the_lease(place: Place, store: Store) -> None:
    await put(store, "a")
    held = await acquire(store)
    steps = (StepRecord("s#1", "h", {"x": [1]}),)
    assert await store.commits.record([RecordCommit(held.lease, "t1", (held.next_pos,), "3", steps)]) == [True]
    await store.leases.release([held.lease])
    store = await place.reopen(store)
    journal = (await acquire(store)).journal
    assert journal is not None
    assert (journal.turn_id, journal.members, journal.agent_version) == ("t1", (held.next_pos,), "3")
    assert journal.steps == {"s#1": steps[0]}


async def test_attempts_of_a_row_are_counted_and_start_anew_for_another_row(store: Store) -> None:
    first, second = await put(store, "a", "b")
    held = await acquire(store)
    assert await store.leases.attempt(held.lease, first.row.pos) == 1
    assert await store.leases.attempt(held.lease, first.row.pos) == 2
    assert await store.leases.attempt(held.lease, second.row.pos) == 1


async def test_a_commit_clears_the_attempts(store: Store) -> None:
    [row] = await put(store, "a")
    held = await acquire(store)
    await store.leases.attempt(held.lease, row.row.pos)
    await store.commits.commit([closing(held)])
    await store.leases.release([held.lease])
    assert (await acquire(store)).head.attempt == 0


async def test_a_new_step_is_progress_and_clears_the_attempts(store: Store) -> None:
    [row] = await put(store, "a")
    held = await acquire(store)
    await store.leases.attempt(held.lease, row.row.pos)
    await store.commits.record([RecordCommit(held.lease, "t", (row.row.pos,), "1", (StepRecord("s", "h", 1),))])
    await store.leases.release([held.lease])
    assert (await acquire(store)).head.attempt == 0


async def test_recording_the_same_step_anew_is_no_progress(store: Store) -> None:
    [row] = await put(store, "a")
    held = await acquire(store)
    for n in range(3):
        steps = (StepRecord("s", f"other arguments {n}", n),)
        await store.commits.record([RecordCommit(held.lease, "t", (row.row.pos,), "1", steps)])
        await store.leases.attempt(held.lease, row.row.pos)
    await store.leases.release([held.lease])
    assert (await acquire(store)).head.attempt == 3


async def test_a_row_that_is_put_off_holds_the_later_ones_behind_it(store: Store, clock: ManualClock) -> None:
    first, _ = await put(store, "a", "b")
    held = await acquire(store)
    await store.leases.attempt(held.lease, first.row.pos, due=clock.now() + 5)
    await store.leases.release([held.lease])
    assert await store.inbox.runnable(["a"], 10) == []
    assert (await acquire(store, ttl_s=1.0)).next_pos == 0
    clock.advance(6)
    assert await store.inbox.runnable(["a"], 10) == [REF]
    assert (await acquire(store)).next_pos == first.row.pos


async def test_a_command_that_came_meanwhile_does_not_wait_for_the_row_that_is_put_off(
    store: Store, clock: ManualClock
) -> None:
    [row] = await put(store, "a")
    held = await acquire(store)
    [command] = await store.inbox.put([new("stop", rank=Rank.COMMAND)])
    await store.leases.attempt(held.lease, row.row.pos, due=clock.now() + 60)
    await store.leases.release([held.lease])
    assert await store.inbox.runnable(["a"], 10) == [REF]
    assert isinstance(command, Accepted)
    assert (await acquire(store)).next_pos == command.row.pos


async def test_after_the_row_that_was_put_off_the_next_one_is_due(store: Store, clock: ManualClock) -> None:
    first, second = await put(store, "a", "b")
    held = await acquire(store)
    await store.leases.attempt(held.lease, first.row.pos, due=clock.now() + 5)
    await store.leases.release([held.lease])
    clock.advance(6)
    assert (await run_turn(store)).next_pos == second.row.pos
