"""The keeping half of a turn: artifacts by name, and the session's workspace."""

from collections.abc import AsyncIterator

from consumers.deciding import Deciding
from consumers.kept import Data, Kept, SessionWorkspace, checked_name, no_store, stream_of
from sessionstore.artifact import BLOB_BYTES_MAX, ArtifactRef, ArtifactStore, read_whole
from sessionstore.errors import ArtifactMissing
from sessionstore.record import Record


class Keeping(Deciding):
    """What a turn stores as bytes. References leave with the closing commit."""

    _artifact_store: ArtifactStore | None = None
    _record: Record

    def keep_in(self, store: ArtifactStore | None, record: Record) -> None:
        """Where artifacts are kept, and what the session has of them."""
        self._artifact_store = store
        self._record = record

    async def artifact(
        self, name: str, data: Data, *, media_type: str = "application/octet-stream", bytes_max: int = BLOB_BYTES_MAX
    ) -> ArtifactRef:
        """Store bytes, a file (`Path`) or a stream of bytes under a name; the bytes are durable on return.

        The reference is part of the closing commit. Storing again is safe: the same bytes are the same blob.
        """
        kept = self._kept()
        checked_name(name, media_type)
        blob = await kept.store.put(stream_of(data), bytes_max=bytes_max)
        self._open()
        ref = ArtifactRef(name, blob.digest, blob.size, media_type)
        kept.name(name, ref)
        return ref

    def drop_artifact(self, name: str) -> None:
        """Let a named artifact go; when nothing else refers to it, it is collected. Raises ArtifactMissing."""
        kept = self._kept()
        if kept.refs.pop(name, None) is None:
            raise ArtifactMissing(f"this session has no artifact {name!r:.100}", hint="see turn.artifacts")

    @property
    def artifacts(self) -> dict[str, ArtifactRef]:
        """The session's artifacts by name, this turn's included."""
        return dict(self._kept().refs)

    async def read_artifact(self, name_or_digest: str) -> bytes:
        """An artifact's bytes, verified; one that is too large for that is streamed. Raises ArtifactMissing for what
        this session does not refer to, ArtifactDamaged, TooLarge."""
        return await read_whole(self.stream_artifact(name_or_digest))

    def stream_artifact(self, name_or_digest: str) -> AsyncIterator[bytes]:
        """An artifact's bytes in chunks; the end comes only when the whole is verified, else ArtifactDamaged."""
        kept = self._kept()
        return kept.store.read(kept.digest(name_or_digest))

    @property
    def workspace(self) -> SessionWorkspace:
        """The session's files."""
        return SessionWorkspace(self._kept(), self._open)

    def _kept(self) -> Kept:
        self._open()
        if self.intents.kept is None:
            if self._artifact_store is None:
                raise no_store()
            self.intents.kept = Kept(self._artifact_store, self._record)
        return self.intents.kept
