"""Artifacts in memory: for tests and simulations, where nothing has to outlive the process."""

from collections.abc import AsyncIterable, AsyncIterator, Sequence

from sessionstore.artifact import (
    BLOB_BYTES_MAX,
    CHUNK_BYTES,
    Blob,
    Intake,
    StoredBlob,
    checked_digest,
    gathered,
    verified,
)
from sessionstore.artifacts.folder import missing
from sessionstore.clock import Clock


class MemoryArtifacts:
    """`ArtifactStore` in a dictionary."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.blobs: dict[str, tuple[bytes, float]] = {}

    async def put(self, data: AsyncIterable[bytes], *, bytes_max: int = BLOB_BYTES_MAX) -> Blob:
        """See `ArtifactStore.put`."""
        intake = Intake(bytes_max)
        whole = b"".join([chunk async for chunk in gathered(data, intake)])
        blob = intake.blob()
        self.blobs[blob.digest] = (whole, self._clock.now())
        return blob

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        """See `ArtifactStore.read`."""
        if checked_digest(digest) not in self.blobs:
            raise missing(digest)
        async for chunk in verified(digest, _pieces(self.blobs[digest][0])):
            yield chunk

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """See `ArtifactStore.sizes`."""
        return {digest: len(self.blobs[digest][0]) for digest in digests if checked_digest(digest) in self.blobs}

    async def pages(self) -> AsyncIterator[list[StoredBlob]]:
        """See `ArtifactStore.pages`."""
        yield [StoredBlob(digest, len(data), at) for digest, (data, at) in self.blobs.items()]

    async def delete(self, digests: Sequence[str], *, stored_before: float) -> list[str]:
        """See `ArtifactStore.delete`."""
        known = [digest for digest in digests if checked_digest(digest) in self.blobs]
        removed = [digest for digest in known if self.blobs[digest][1] < stored_before]
        for digest in removed:
            del self.blobs[digest]
        return removed

    async def sweep(self, *, begun_before: float) -> int:
        """See `ArtifactStore.sweep`: nothing is written in part."""
        return 0

    async def close(self) -> None:
        """See `ArtifactStore.close`."""


async def _pieces(whole: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(whole), CHUNK_BYTES):
        yield whole[start : start + CHUNK_BYTES]
