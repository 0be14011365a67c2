"""The bus: on return an event is durable, in order per session, and only then may its source be acknowledged."""

import asyncio
from collections.abc import Callable
from types import MappingProxyType

import pytest

from consumers.bus import Bus, StoreBus
from sessionstore.inbox import Accepted, BodyConflict, Duplicate
from sessionstore.store import Store
from tests.conformance.places import Place
from tests.conformance.samples import REF, key, new, ref

# To add a bus, add a line: its name, and how to make it before a store.
BUSES = MappingProxyType({"store": lambda store: StoreBus(store.inbox)})


@pytest.fixture(params=sorted(BUSES))
def make(request: pytest.FixtureRequest) -> Callable[[Store], Bus]:
    made: Callable[[Store], Bus] = BUSES[request.param]
    return made


@pytest.fixture
def bus(make: Callable[[Store], Bus], store: Store) -> Bus:
    return make(store)


async def test_a_published_event_is_durable_on_return(place: Place, store: Store, bus: Bus) -> None:
    [result] = await bus.publish([new("a")])
    assert isinstance(result, Accepted)
    store = await place.reopen(store)
    assert [row.event.id for row in await store.inbox.queued(REF, 10)] == ["a"]


async def test_results_come_in_the_order_of_the_events(bus: Bus) -> None:
    results = await bus.publish([new("a", body=b"1"), new("b"), new("a", body=b"2"), new("b")])
    assert [type(r) for r in results] == [Accepted, Accepted, BodyConflict, Duplicate]


async def test_events_of_a_session_keep_their_order(store: Store, bus: Bus) -> None:
    ids = [f"e{n}" for n in range(60)]
    await asyncio.gather(*(bus.publish([new(id_)]) for id_ in ids[:30]))
    await bus.publish([new(id_) for id_ in ids[30:]])
    assert [row.event.id for row in await store.inbox.queued(REF, 100)] == ids


async def test_a_repeat_that_comes_at_the_same_time_is_stored_once(store: Store, bus: Bus) -> None:
    results = await asyncio.gather(*(bus.publish([new("a")]) for _ in range(20)))
    assert sorted(type(r).__name__ for [r] in results) == ["Accepted"] + ["Duplicate"] * 19


async def test_a_poisoned_event_fails_alone(store: Store, bus: Bus) -> None:
    good = [bus.publish([new(f"e{n}", key(n))]) for n in range(10)]
    bad = bus.publish([new("bad", data=object())])
    failed, *results = await asyncio.gather(bad, *good, return_exceptions=True)
    assert isinstance(failed, TypeError)
    assert [type(r) for [r] in results] == [Accepted] * 10
    assert len(await store.inbox.queued(ref(3), 10)) == 1


async def test_a_publisher_that_goes_away_takes_nothing_back(store: Store, bus: Bus) -> None:
    leaving = asyncio.ensure_future(bus.publish([new("a")]))
    await asyncio.sleep(0)
    leaving.cancel()
    await bus.publish([new("b")])
    assert [row.event.id for row in await store.inbox.queued(REF, 10)] == ["a", "b"]


def test_a_session_has_one_partition(bus: Bus) -> None:
    assert len({bus.partition("acme", key(1)) for _ in range(10)}) == 1


def test_sessions_spread_over_partitions(bus: Bus) -> None:
    assert len({bus.partition("acme", key(n)) for n in range(1_000)}) > 32
