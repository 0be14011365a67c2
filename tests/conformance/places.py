"""A place where stores live: opened, reopened, opened twice at once, and checked for conservation at the end."""

from pathlib import Path

from sessionstore.store import Store
from tests.conformance.drivers import Opener


class ManualClock:
    """Both clocks stand still until they are moved."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self._now = now
        self._monotonic = 1_000.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, seconds: float) -> None:
        self._now += seconds
        self._monotonic += seconds


class Place:
    """One folder, one clock, and every store that was opened there."""

    def __init__(self, opener: Opener, folder: Path, clock: ManualClock) -> None:
        self._opener = opener
        self._folder = folder
        self.clock = clock
        self._open: list[Store] = []

    def open(self) -> Store:
        """One more process on the same data."""
        store = self._opener(self._folder, self.clock)
        self._open.append(store)
        return store

    async def reopen(self, store: Store) -> Store:
        """The same data after an orderly end of the process."""
        self._open.remove(store)
        await store.close()
        return self.open()

    async def close(self) -> None:
        for store in self._open:
            await store.close()
        self._open.clear()


async def assert_conserved(store: Store) -> None:
    """Counters equal rows, transcripts have no gaps, and no queued row is left that nobody will wake for."""
    balances = await store.reads.balances(None)
    assert {b.name: b.missing for b in balances} == {"accepted": 0, "intended": 0}, balances
    assert await store.reads.gaps(None) == []
    for head in await store.reads.sessions(None, limit=10_000):
        asleep = head["queued"] and head["due"] is None and not head["run_id"] and head["status"] != "archived"
        assert not asleep, f"{head['session']} has {head['queued']} rows queued and is not due"
        assert head["due"] is None or head["queued"], f"{head['session']} is due and has no row"
