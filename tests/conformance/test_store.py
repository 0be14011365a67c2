"""The store as a whole: notices after commits, adoption after a crash, and two processes on the same data."""

import asyncio

from sessionstore.commit import Committed
from sessionstore.effect import EffectState, Settlement
from sessionstore.inbox import Accepted
from sessionstore.leases import Held
from sessionstore.notice import Notice
from sessionstore.store import Store
from tests.conformance.places import ManualClock, Place
from tests.conformance.samples import REF, acquire, claim_one, closing, effect, intend, key, new, put, ref, state_of


async def test_listeners_hear_of_accepted_rows_in_order_and_of_no_others(store: Store) -> None:
    heard: list[str] = []
    store.listen(lambda notice: heard.extend(a.row.event.id for a in notice.rows))
    await store.inbox.put([new("a"), new("no", dropped="blocked"), new("a"), new("b")])
    await put(store, "c")
    await put(store, "flush")
    assert heard[:3] == ["a", "b", "c"]


async def test_a_refused_transaction_is_not_told(store: Store) -> None:
    heard: list[Notice] = []
    stop = store.listen(heard.append)
    results = await asyncio.gather(store.inbox.put([new("bad", data=object())]), return_exceptions=True)
    await put(store, "a")
    stop()
    assert isinstance(results[0], TypeError)
    assert [a.row.event.id for notice in heard for a in notice.rows if a.row.event.id == "bad"] == []


async def test_who_stopped_listening_hears_nothing(store: Store) -> None:
    heard: list[Notice] = []
    store.listen(heard.append)()
    await put(store, "a")
    await put(store, "b")
    assert heard == []


async def test_two_processes_interleave_without_error(place: Place, store: Store) -> None:
    other = place.open()

    async def chat(own: Store, n: int) -> int:
        session, done = ref(n % 7), 0
        [result] = await own.inbox.put([new(f"e{n}", session.session)])
        assert isinstance(result, Accepted)
        [taken] = await own.leases.acquire([session], f"w{n}", 30.0)
        if isinstance(taken, Held):
            if taken.next_pos:
                [closed] = await own.commits.commit([closing(taken, effects=(effect(f"x{n}"),))])
                done += isinstance(closed, Committed)
            await own.leases.release([taken.lease])
        for claimed in await own.outbox.claim(["fake"], 3, 30.0):
            assert await own.outbox.settle([Settlement(claimed, EffectState.DELIVERED)]) == [True]
        return done

    done = await asyncio.gather(*(chat(s, n) for n, s in enumerate([store, other] * 40)))
    settled = next(b for b in await store.reads.balances(None) if b.name == "accepted").rows["settled"]
    assert settled == sum(done) > 0


async def test_what_one_process_wrote_the_other_sees(place: Place, store: Store) -> None:
    other = place.open()
    await put(store, "a")
    held = await acquire(other)
    assert held.next_pos > 0
    await other.commits.commit([closing(held)])
    head = await store.reads.session(REF)
    assert head is not None
    assert head["version"] == 1
    assert await store.inbox.queued(REF, 10) == []


async def test_a_query_beside_the_writer_sees_whole_transactions(store: Store) -> None:
    async def write() -> None:
        for n in range(30):
            await intend(store, effect(f"e{n}a"), effect(f"e{n}b", "other"), session=ref(n))

    async def count() -> None:
        for _ in range(30):
            assert len(await store.reads.effects(None, limit=1_000)) % 2 == 0

    await asyncio.gather(write(), count())


async def test_work_of_many_sessions_side_by_side_adds_up(store: Store) -> None:
    async def session(n: int) -> None:
        await put(store, f"e{n}", session=key(n))
        held = await acquire(store, ref(n))
        [closed] = await store.commits.commit([closing(held, effects=(effect(f"x{n}"),))])
        assert isinstance(closed, Committed)

    await asyncio.gather(*(session(n) for n in range(60)))
    assert len(await store.reads.effects(None, limit=1_000)) == 60


async def test_a_claim_that_ran_out_is_told_as_unknown(store: Store, clock: ManualClock) -> None:
    heard: list[Notice] = []
    await intend(store, effect("e1"))
    await claim_one(store)
    store.listen(heard.append)
    clock.advance(31)
    await store.outbox.claim(["fake"], 1, 30.0)
    await put(store, "flush")
    assert any(notice.unknown for notice in heard)
    assert await state_of(store, "e1") == "unknown"
