"""Artifacts: bytes that are too large for a record, named by their SHA-256, and the store that keeps them.

A name that is the content's own digest makes putting safe to repeat: a turn that runs again stores the same blob, and
two writers of one content cannot disagree. It also makes reading provable: what does not hash to its name is damaged.
The blob is stored before the commit that refers to it, never after. So a crash between the two leaves a blob that
nobody refers to, which is collected later, and never a reference to nothing.
"""

import hashlib
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sessionstore.errors import ArtifactDamaged, BadInput, TooLarge

BLOB_BYTES_MAX: Final = 1_073_741_824
READ_BYTES_MAX: Final = 67_108_864
CHUNK_BYTES: Final = 1_048_576
DIGEST: Final = re.compile(r"[0-9a-f]{64}")

REFERRING: Final = frozenset({"artifact.stored", "workspace.changed"})


@dataclass(frozen=True, slots=True)
class Blob:
    """What was stored: the SHA-256 of its bytes in hex, and how many they are."""

    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob as a store lists it; `stored_at` is when it was last put, in unix seconds by the store's own clock."""

    digest: str
    size: int
    stored_at: float


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """A named artifact of a session."""

    name: str
    digest: str
    size: int
    media_type: str


class ArtifactStore(Protocol):
    """Blobs by digest, streamed in and out. Shared by all tenants: who may read what is judged by the references."""

    async def put(self, data: AsyncIterable[bytes], *, bytes_max: int = BLOB_BYTES_MAX) -> Blob:
        """Store the bytes; on return they are durable under their digest, and `stored_at` is now.

        Putting what is there already stores it again, so a damaged blob is healed by the next put of its content.
        Raises TooLarge above `bytes_max`, StoreBusy when there is no room, StoreError when storage does not take it;
        then nothing of it can be seen. Whatever `data` raises is passed on, with nothing stored.
        """
        ...

    def read(self, digest: str) -> AsyncIterator[bytes]:
        """The bytes, in chunks of at most a few megabytes.

        The last chunk is held back until the whole is verified: who has got to the end has the bytes that were put.
        Raises ArtifactMissing, and ArtifactDamaged instead of the end.
        """
        ...

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """Sizes in bytes by digest, as stored and not verified; unknown digests are left out."""
        ...

    def pages(self) -> AsyncIterator[list[StoredBlob]]:
        """Everything that is stored, page by page, in no order. What is put meanwhile may be left out."""
        ...

    async def delete(self, digests: Sequence[str], *, stored_before: float) -> list[str]:
        """Remove blobs that were last put before then; returns those that it removed. Unknown ones are left out."""
        ...

    async def sweep(self, *, begun_before: float) -> int:
        """Remove what puts that were begun before then, and never ended, left behind; returns how many."""
        ...

    async def close(self) -> None:
        """Let go of connections and the like."""
        ...


def checked_digest(digest: str) -> str:
    """The digest, when it is one: 64 lower-case hex digits. Raises BadInput, so that no other text becomes a path."""
    if not isinstance(digest, str) or DIGEST.fullmatch(digest) is None:
        raise BadInput(f"{digest!r:.80} is not a SHA-256 digest", hint="give 64 lower-case hex digits")
    return digest


class Intake:
    """Counts and hashes what goes into a store. Raises TooLarge as soon as it is too much."""

    __slots__ = ("_bytes_max", "_hash", "size")

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._hash = hashlib.sha256()
        self.size = 0

    def add(self, chunk: bytes) -> None:
        """Take one chunk."""
        self.size += len(chunk)
        if self.size > self._bytes_max:
            raise TooLarge(
                f"the artifact has more than {self._bytes_max} bytes",
                hint="split it, or store it elsewhere and refer to it",
            )
        self._hash.update(chunk)

    def blob(self) -> Blob:
        """What was taken, all in all."""
        return Blob(self._hash.hexdigest(), self.size)


async def gathered(data: AsyncIterable[bytes], intake: Intake) -> AsyncIterator[bytes]:
    """The bytes in chunks of about CHUNK_BYTES, counted and hashed, however small or large they come."""
    buffer = bytearray()
    async for piece in data:
        if not isinstance(piece, bytes | bytearray | memoryview):
            raise BadInput(f"an artifact is bytes, not {type(piece).__name__}", hint="encode text first")
        for start in range(0, len(piece), CHUNK_BYTES):
            part = bytes(piece[start : start + CHUNK_BYTES])
            intake.add(part)
            buffer += part
            if len(buffer) >= CHUNK_BYTES:
                yield bytes(buffer)
                buffer.clear()
    if buffer:
        yield bytes(buffer)


async def verified(digest: str, chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The chunks, the last one only after all have been found to hash to `digest`. Raises ArtifactDamaged."""
    held, seen = b"", hashlib.sha256()
    async for chunk in chunks:
        if held:
            yield held
        held = bytes(chunk)
        seen.update(held)
    if seen.hexdigest() != digest:
        raise ArtifactDamaged(
            f"the artifact {digest} is damaged: its bytes are others than were stored",
            hint="restore it from a backup of the artifacts, or store the same content again, which heals it",
        )
    if held:
        yield held


async def read_whole(chunks: AsyncIterator[bytes], *, bytes_max: int = READ_BYTES_MAX) -> bytes:
    """A verified stream as one piece. Raises TooLarge above `bytes_max`: such a one is streamed."""
    whole = bytearray()
    async for chunk in chunks:
        whole += chunk
        if len(whole) > bytes_max:
            raise TooLarge(f"the artifact has more than {bytes_max} bytes", hint="stream it")
    return bytes(whole)


async def one_chunk(data: bytes) -> AsyncIterator[bytes]:
    """Bytes that are at hand, as a stream."""
    yield data


def digests_in_entry(type_: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    """The digests that a transcript event refers to."""
    if type_ == "artifact.stored":
        return (body["digest"],)
    if type_ == "workspace.changed":
        return tuple({item["digest"] for item in body["set"].values()})
    return ()


def digests_in_record(record: Mapping[str, Any]) -> set[str]:
    """The digests that a record, and so a checkpoint, refers to."""
    section = record["artifacts"]
    items: Iterable[Mapping[str, Any]] = (*section.get("refs", {}).values(), *section.get("workspace", {}).values())
    return {item["digest"] for item in items}
