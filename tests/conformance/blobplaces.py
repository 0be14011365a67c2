"""The places where artifacts live, one a driver: opened, looked into and damaged behind the driver's back.

To add a driver, add a class and its line in `PLACES`.
"""

from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import obstore

from sessionstore.artifact import ArtifactStore
from sessionstore.artifacts.folder import FolderArtifacts
from sessionstore.artifacts.memory import MemoryArtifacts
from sessionstore.artifacts.object import ObjectArtifacts, path_of
from sessionstore.clock import SystemClock

BUCKET = "artifacts"


class BlobPlace(Protocol):
    """`url` is the S3 server's, where one is needed."""

    def __init__(self, folder: Path, url: str) -> None: ...

    def open(self) -> ArtifactStore:
        """One more process on the same data."""
        ...

    async def spoil(self, digest: str, data: bytes) -> None:
        """Put other bytes under a digest."""
        ...


class FolderPlace:
    def __init__(self, folder: Path, url: str) -> None:
        self._root = folder / "artifacts"

    def open(self) -> ArtifactStore:
        return FolderArtifacts(self._root)

    async def spoil(self, digest: str, data: bytes) -> None:
        (self._root / digest[:2] / digest).write_bytes(data)


class MemoryPlace:
    def __init__(self, folder: Path, url: str) -> None:
        self._store = MemoryArtifacts(SystemClock())

    def open(self) -> ArtifactStore:
        return self._store

    async def spoil(self, digest: str, data: bytes) -> None:
        self._store.blobs[digest] = (data, self._store.blobs[digest][1])


class ObjectPlace:
    def __init__(self, folder: Path, url: str) -> None:
        options: dict[str, Any] = {
            "endpoint": url,
            "access_key_id": "key",
            "secret_access_key": "secret",
            "region": "us-east-1",
            "client_options": {"allow_http": True},
        }
        self._url = f"s3://{BUCKET}/{folder.name}"
        self._options = options
        self._objects = obstore.store.from_url(self._url, **options)

    def open(self) -> ArtifactStore:
        return ObjectArtifacts(self._url, options=self._options)

    async def spoil(self, digest: str, data: bytes) -> None:
        await obstore.put_async(self._objects, path_of(digest), data)


PLACES: MappingProxyType[str, type[BlobPlace]] = MappingProxyType(
    {"folder": FolderPlace, "memory": MemoryPlace, "s3": ObjectPlace}
)

# Where a test asks for what only the streaming drivers promise.
STREAMING = ("folder", "s3")
