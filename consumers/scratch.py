"""Scratch seams: where a replayed turn commits to. Nothing of it reaches a store."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Any

from sessionstore.artifact import BLOB_BYTES_MAX, ArtifactStore, Blob, StoredBlob
from sessionstore.artifacts.memory import MemoryArtifacts
from sessionstore.commit import CommitResult, Committed, RecordCommit, TurnCommit
from sessionstore.leases import Lease
from sessionstore.timer import Waits
from sessionstore.wait import Wait


class ScratchClock:
    """A clock that stands where it was put: a replayed turn sees the time at which the first one ran."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        """Unix seconds."""
        return self.at

    def monotonic(self) -> float:
        """The same."""
        return self.at


class Scratch:
    """Commits, attempts and questions of one replayed session, in memory."""

    def __init__(self, waits: Waits) -> None:
        self._stored = waits
        self.waits: dict[str, Wait] = {}
        self.last: TurnCommit | None = None

    async def commit(self, batch: Sequence[TurnCommit]) -> list[CommitResult]:
        """See `SessionStore.commit`; durable nowhere."""
        for turn in batch:
            self.last = turn
            self.waits.update((wait.wait_id, wait) for wait in turn.waits)
        return [Committed(turn.version + 1, turn.first_seq + len(turn.entries) - 1, 0, None) for turn in batch]

    async def record(self, batch: Sequence[RecordCommit]) -> list[bool]:
        """See `SessionStore.record`: kept by the turn itself."""
        return [True] * len(batch)

    async def attempt(self, lease: Lease, pos: int, *, due: float | None = None, error: str = "") -> int:
        """A replayed turn is started once."""
        return 1

    async def get(self, wait_id: str) -> dict[str, Any] | None:
        """A wait as it was asked, in this life or before it."""
        wait = self.waits.get(wait_id)
        if wait is None:
            return await self._stored.get(wait_id)
        due = wait.due if wait.due is not None else wait.expires_at
        names = ("wait_id", "kind", "then", "question", "binds", "data", "priority", "route")
        return {**{name: getattr(wait, name) for name in names}, "options": list(wait.options), "due": due}


class ScratchArtifacts:
    """Artifacts as they are stored, and what a replayed turn would store, which is forgotten."""

    def __init__(self, stored: ArtifactStore, clock: ScratchClock) -> None:
        self._stored = stored
        self._scratch = MemoryArtifacts(clock)

    async def put(self, data: AsyncIterable[bytes], *, bytes_max: int = BLOB_BYTES_MAX) -> Blob:
        """See `ArtifactStore.put`; kept in memory."""
        return await self._scratch.put(data, bytes_max=bytes_max)

    def read(self, digest: str) -> AsyncIterator[bytes]:
        """See `ArtifactStore.read`."""
        return self._scratch.read(digest) if digest in self._scratch.blobs else self._stored.read(digest)

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """See `ArtifactStore.sizes`."""
        return {**await self._stored.sizes(digests), **await self._scratch.sizes(digests)}

    def pages(self) -> AsyncIterator[list[StoredBlob]]:
        """See `ArtifactStore.pages`: of what this replay has put."""
        return self._scratch.pages()

    async def delete(self, digests: Sequence[str], *, stored_before: float) -> list[str]:
        """See `ArtifactStore.delete`: what is stored stays."""
        return await self._scratch.delete(digests, stored_before=stored_before)

    async def sweep(self, *, begun_before: float) -> int:
        """See `ArtifactStore.sweep`."""
        return 0

    async def close(self) -> None:
        """See `ArtifactStore.close`: the stored ones are not this replay's to close."""
