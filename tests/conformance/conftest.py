"""Fixtures of the suites: a place per driver; every test ends with the conservation check."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sessionstore.commit import SessionStore
from sessionstore.groupcommit import GroupCommit
from sessionstore.store import Store
from tests.conformance.drivers import DRIVERS
from tests.conformance.places import ManualClock, Place, assert_conserved


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=sorted(DRIVERS))
async def place(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Place]:
    place = Place(DRIVERS[request.param], tmp_path, clock)
    yield place
    await assert_conserved(place.open())
    await place.close()


@pytest.fixture
async def store(place: Place) -> Store:
    return place.open()


@pytest.fixture(params=["direct", "grouped"])
def commits(request: pytest.FixtureRequest, store: Store) -> SessionStore:
    return store.commits if request.param == "direct" else GroupCommit(store.commits)
