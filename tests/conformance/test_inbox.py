"""The inbox: arrival is durable, deduplicated, ordered and counted."""

import asyncio

import pytest

from sessionstore.event import Rank
from sessionstore.inbox import Accepted, Archived, BodyConflict, Dropped, Duplicate, SessionRef
from sessionstore.leases import Busy
from sessionstore.session import Status
from sessionstore.store import Store
from tests.conformance.places import ManualClock, Place
from tests.conformance.samples import (
    KEY,
    REF,
    TENANT,
    acquire,
    closing,
    effect,
    event,
    intend,
    key,
    new,
    put,
    ref,
    run_turn,
)


async def queued_ids(store: Store, session: SessionRef = REF) -> list[str]:
    return [row.event.id for row in await store.inbox.queued(session, 100)]


async def test_results_come_in_the_order_of_the_rows(store: Store) -> None:
    results = await store.inbox.put([new("a"), new("b", key(2), dropped="not paired"), new("a"), new("c")])
    assert [type(r) for r in results] == [Accepted, Dropped, Duplicate, Accepted]


async def test_an_accepted_event_survives_closing_and_reopening(place: Place, store: Store) -> None:
    sent = event(
        "a", sender="u1", reply_route={"adapter": "fake", "lane": "x"}, headers={"h": "1"}, trace="t", time=5.5
    )
    await store.inbox.put(
        [new("a", sender="u1", reply_route=sent.reply_route, headers={"h": "1"}, trace="t", time=5.5)]
    )
    store = await place.reopen(store)
    [row] = await store.inbox.queued(REF, 10)
    assert row.event == sent


async def test_a_second_arrival_is_told_where_the_first_is(store: Store) -> None:
    [first] = await put(store, "a")
    assert await store.inbox.put([new("a")]) == [Duplicate(KEY, first.row.pos, "queued")]
    assert await queued_ids(store) == ["a"]


async def test_a_duplicate_inside_one_batch_is_stored_once(store: Store) -> None:
    first, second = await store.inbox.put([new("a"), new("a")])
    assert isinstance(first, Accepted)
    assert isinstance(second, Duplicate)
    assert await queued_ids(store) == ["a"]


async def test_a_duplicate_is_recognised_after_reopening(place: Place, store: Store) -> None:
    await put(store, "a")
    store = await place.reopen(store)
    [again] = await store.inbox.put([new("a")])
    assert isinstance(again, Duplicate)


async def test_a_duplicate_of_a_settled_event_runs_nothing(store: Store) -> None:
    [first] = await put(store, "a")
    await run_turn(store)
    assert await store.inbox.put([new("a")]) == [Duplicate(KEY, first.row.pos, "settled")]
    assert await store.inbox.runnable(["a"], 10) == []


async def test_the_first_routing_sticks(store: Store) -> None:
    await put(store, "a")
    [again] = await store.inbox.put([new("a", key(2))])
    assert isinstance(again, Duplicate)
    assert again.session == KEY
    assert await store.reads.session(ref(2)) is None


@pytest.mark.parametrize("other", ["tenant", "source"])
async def test_the_same_id_of_another_tenant_or_source_is_another_event(store: Store, other: str) -> None:
    results = await store.inbox.put([new("a"), new("a", **{other: "other"})])
    assert [type(r) for r in results] == [Accepted, Accepted]


async def test_another_body_under_the_same_id_is_a_conflict_and_is_written_down(store: Store) -> None:
    await store.inbox.put([new("a", body=b"1")])
    assert await store.inbox.put([new("a", body=b"2")]) == [BodyConflict(KEY)]
    assert await queued_ids(store) == ["a"]
    assert [line["action"] for line in await store.reads.trail()] == ["event.conflict"]


async def test_the_same_body_under_the_same_id_is_a_duplicate(store: Store) -> None:
    await store.inbox.put([new("a", body=b"1")])
    [again] = await store.inbox.put([new("a", body=b"1")])
    assert isinstance(again, Duplicate)


async def test_positions_grow_and_each_row_names_the_one_before_it(store: Store) -> None:
    first, second = await put(store, "a", "b")
    [elsewhere] = await put(store, "x", session=key(2))
    [third] = await put(store, "c")
    assert first.previous == 0
    assert second.previous == first.row.pos
    assert elsewhere.previous == 0
    assert third.previous == second.row.pos
    assert first.row.pos < second.row.pos < third.row.pos


async def test_a_dropped_row_and_a_duplicate_leave_no_gap_for_readers(store: Store) -> None:
    [first] = await put(store, "a")
    await store.inbox.put([new("no", dropped="blocked"), new("a")])
    [second] = await put(store, "b")
    assert second.previous == first.row.pos


async def test_a_session_sees_its_rows_in_the_order_of_arrival(store: Store) -> None:
    ids = [f"e{n}" for n in range(20)]
    for id_ in ids:
        await put(store, id_)
    assert await queued_ids(store) == ids


async def test_concurrent_puts_keep_the_order_in_which_they_were_made(store: Store) -> None:
    ids = [f"e{n}" for n in range(50)]
    await asyncio.gather(*(store.inbox.put([new(id_)]) for id_ in ids))
    assert await queued_ids(store) == ids


async def test_commands_come_first_then_rows_of_the_run_then_the_rest(store: Store) -> None:
    await store.inbox.put([new("rest"), new("run", rank=Rank.RUN), new("command", rank=Rank.COMMAND)])
    assert await queued_ids(store) == ["command", "run", "rest"]


async def test_what_admission_refused_is_kept_with_its_reason_and_runs_nothing(store: Store) -> None:
    [result] = await store.inbox.put([new("a", dropped="not paired")])
    assert isinstance(result, Dropped)
    assert result.reason == "not paired"
    [kept] = await store.reads.dropped(TENANT)
    assert (kept["event_id"], kept["reason"]) == ("a", "not paired")
    assert await store.inbox.runnable(["a"], 10) == []


async def test_an_archived_session_takes_nothing_more_and_says_so(store: Store) -> None:
    await put(store, "a")
    await run_turn(store, status=Status.ARCHIVED)
    assert await store.inbox.put([new("b")]) == [Archived(KEY)]
    assert await store.inbox.runnable(["a"], 10) == []
    assert [kept["event_id"] for kept in await store.reads.dropped(TENANT)] == ["b"]


async def test_a_message_behind_an_open_run_is_held_back_and_wakes_nobody(store: Store) -> None:
    await intend(store, effect("e1", then="after"), run_id="r1")
    await put(store, "later")
    assert await store.inbox.runnable(["a"], 10) == []
    held = await acquire(store)
    assert held.next_pos == 0


async def test_a_row_of_the_open_run_is_not_held_back(store: Store) -> None:
    await intend(store, effect("e1", then="after"), run_id="r1")
    await put(store, "later")
    [own] = await store.inbox.put([new("own", rank=Rank.RUN)])
    assert await store.inbox.runnable(["a"], 10) == [REF]
    held = await acquire(store)
    assert isinstance(own, Accepted)
    assert held.next_pos == own.row.pos


async def test_what_was_held_back_is_due_when_the_run_closes(store: Store) -> None:
    await intend(store, effect("e1", then="after"), run_id="r1")
    [later] = await put(store, "later")
    await store.inbox.put([new("own", rank=Rank.RUN)])
    closed = await run_turn(store, run_id="")
    assert closed.next_pos == later.row.pos


async def test_a_row_that_is_not_due_yet_wakes_nobody_before_its_time(store: Store, clock: ManualClock) -> None:
    await store.inbox.put([new("a", due=clock.now() + 10)])
    assert await store.inbox.runnable(["a"], 10) == []
    clock.advance(10)
    assert await store.inbox.runnable(["a"], 10) == [REF]


async def test_only_sessions_of_the_callers_agents_without_a_live_lease_are_runnable(
    store: Store, clock: ManualClock
) -> None:
    await store.inbox.put([new("a"), new("b", "agent:b/dm:1", agent="b")])
    assert await store.inbox.runnable(["a"], 10) == [REF]
    await acquire(store)
    assert await store.inbox.runnable(["a"], 10) == []
    clock.advance(31)
    assert await store.inbox.runnable(["a"], 10) == [REF]


async def test_the_longest_due_sessions_come_first_and_no_tenant_hides_another(
    store: Store, clock: ManualClock
) -> None:
    for n in (3, 1, 2):
        await put(store, f"e{n}", session=key(n))
        clock.advance(1)
    await store.inbox.put([new("z", tenant="zeta")])
    found = await store.inbox.runnable(["a"], 2)
    assert [r for r in found if r.tenant == TENANT] == [ref(3), ref(1)]
    assert SessionRef("zeta", KEY) in found


async def test_a_poisoned_row_fails_alone(store: Store) -> None:
    good = [store.inbox.put([new(f"g{n}")]) for n in range(10)]
    poison = store.inbox.put([new("bad", data=object())])
    *results, failed = await asyncio.gather(*good, poison, return_exceptions=True)
    assert isinstance(failed, TypeError)
    assert [type(r) for [r] in results] == [Accepted] * 10
    assert await queued_ids(store) == [f"g{n}" for n in range(10)]


async def test_rows_put_while_a_turn_runs_are_next_after_its_commit(store: Store) -> None:
    await put(store, "a")
    held = await acquire(store)
    [later] = await put(store, "b")
    [result] = await store.commits.commit([closing(held)])
    assert getattr(result, "next_pos", None) == later.row.pos


async def test_a_live_lease_makes_others_wait_but_not_the_inbox(store: Store) -> None:
    await put(store, "a")
    await acquire(store)
    await put(store, "b")
    [busy] = await store.leases.acquire([REF], "w2", 30.0)
    assert isinstance(busy, Busy)
    assert await queued_ids(store) == ["a", "b"]
