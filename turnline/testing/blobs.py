"""Artifacts of a simulated world: they outlive its processes, and each put is a boundary at which one can die."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Sequence

from sessionstore.artifact import BLOB_BYTES_MAX, ArtifactStore, Blob, StoredBlob
from turnline.testing.inline import Fuse, Side


class MortalArtifacts:
    """An `ArtifactStore` whose user dies before a put, or after it, when nobody has been told."""

    def __init__(self, inner: ArtifactStore, fuse: Callable[[], Fuse]) -> None:
        self._inner = inner
        self._fuse = fuse

    async def put(self, data: AsyncIterable[bytes], *, bytes_max: int = BLOB_BYTES_MAX) -> Blob:
        """See `ArtifactStore.put`. Raises Died."""
        fuse = self._fuse()
        fuse.check()
        fuse.pass_(Side.BEFORE)
        blob = await self._inner.put(data, bytes_max=bytes_max)
        fuse.pass_(Side.AFTER)
        return blob

    def read(self, digest: str) -> AsyncIterator[bytes]:
        """See `ArtifactStore.read`. Raises Died."""
        self._fuse().check()
        return self._inner.read(digest)

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """See `ArtifactStore.sizes`."""
        return await self._inner.sizes(digests)

    def pages(self) -> AsyncIterator[list[StoredBlob]]:
        """See `ArtifactStore.pages`."""
        return self._inner.pages()

    async def delete(self, digests: Sequence[str], *, stored_before: float) -> list[str]:
        """See `ArtifactStore.delete`. Raises Died."""
        self._fuse().check()
        return await self._inner.delete(digests, stored_before=stored_before)

    async def sweep(self, *, begun_before: float) -> int:
        """See `ArtifactStore.sweep`."""
        return await self._inner.sweep(begun_before=begun_before)

    async def close(self) -> None:
        """See `ArtifactStore.close`."""
