"""What a session keeps outside its record: artifacts by name, and its workspace, as one turn sees and changes them.

Bytes are stored at once and are durable when a call returns; the references to them leave with the closing commit. A
turn that runs again stores the same bytes under the same digests. What no commit came to refer to is collected later.
"""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sessionstore.artifact import (
    BLOB_BYTES_MAX,
    CHUNK_BYTES,
    ArtifactRef,
    ArtifactStore,
    one_chunk,
    read_whole,
)
from sessionstore.artifacts.files import Captured, Restored, capture, materialise
from sessionstore.artifacts.folder import in_thread
from sessionstore.errors import ArtifactMissing, BadInput, BadSettings
from sessionstore.record import Record
from sessionstore.workspace import Changes as WorkspaceChanges
from sessionstore.workspace import FileRef, applied, changes_between, checked, normal_path, workspace_of

ARTIFACTS_MAX = 1_000
NAME_LENGTH_MAX = 200

Data = bytes | Path | AsyncIterable[bytes]


class Kept:
    """The references of a session, with what this turn has changed."""

    def __init__(self, store: ArtifactStore, record: Record) -> None:
        self.store = store
        self._before = refs_of(record)
        self._files_before = workspace_of(record)
        self.refs = dict(self._before)
        self.files = dict(self._files_before)

    def name(self, name: str, ref: ArtifactRef) -> None:
        """Refer to an artifact by a name; an older one of that name is let go."""
        if name not in self.refs and len(self.refs) >= ARTIFACTS_MAX:
            raise BadInput(f"a session keeps {ARTIFACTS_MAX} named artifacts", hint="drop some, or use the workspace")
        self.refs[name] = ref

    def digest(self, name_or_digest: str) -> str:
        """The digest that is meant: a name's, or one that this session refers to. Raises ArtifactMissing."""
        named = self.refs.get(name_or_digest)
        if named is not None:
            return named.digest
        files = (*self.files.values(), *self._files_before.values())
        known = {ref.digest for ref in self.refs.values()} | {file.digest for file in files}
        if name_or_digest not in known:
            raise ArtifactMissing(
                f"this session has no artifact {name_or_digest!r:.100}",
                hint="a session reads only what it refers to",
            )
        return name_or_digest

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The transcript events of what this turn has changed."""
        for name, ref in self.refs.items():
            if self._before.get(name) != ref:
                body = {"digest": ref.digest, "size": ref.size, "media_type": ref.media_type}
                yield "artifact.stored", {"name": name, **body}
        for name in self._before.keys() - self.refs.keys():
            yield "artifact.dropped", {"name": name}
        changes = changes_between(self._files_before, self.files)
        if changes:
            yield "workspace.changed", changes.to_json()


def refs_of(record: Record) -> dict[str, ArtifactRef]:
    """The named artifacts that a record holds."""
    items = record["artifacts"].get("refs", {})
    return {n: ArtifactRef(n, item["digest"], item["size"], item["media_type"]) for n, item in items.items()}


class SessionWorkspace:
    """The files of a session: `turn.workspace`. Changes leave with the closing commit; bytes are stored at once."""

    def __init__(self, kept: Kept, check_open: Callable[[], None]) -> None:
        self._kept = kept
        self._check_open = check_open

    @property
    def files(self) -> Mapping[str, FileRef]:
        """The files by path, with digest and size."""
        return dict(self._kept.files)

    async def materialise(self, folder: str | Path) -> Restored:
        """Write all files into a folder. Raises FilesChanged, with nothing touched, when others are in the way."""
        self._check_open()
        return await materialise(self._kept.store, Path(folder), self._kept.files)

    async def capture(self, folder: str | Path, *, ignore: Sequence[str] = ()) -> Captured:
        """Take over what the folder holds now: new, changed and removed files. Links and the like are skipped.

        `ignore` are patterns of names, such as `"node_modules"` or `"*.pyc"`; what is known of those stays.
        """
        self._check_open()
        captured = await capture(self._kept.store, Path(folder), self._kept.files, ignore)
        self._take(captured.changes)
        return captured

    async def read(self, path: str) -> bytes:
        """A file's bytes, verified. Raises ArtifactMissing."""
        return await read_whole(self.stream(path))

    def stream(self, path: str) -> AsyncIterator[bytes]:
        """A file's bytes in chunks; the end comes only when the whole is verified."""
        self._check_open()
        file = self._kept.files.get(normal_path(path))
        if file is None:
            raise ArtifactMissing(f"the workspace has no file {path!r:.200}", hint="see turn.workspace.files")
        return self._kept.store.read(file.digest)

    async def write(self, path: str, data: Data, *, executable: bool = False) -> FileRef:
        """Put a file; its bytes are durable on return."""
        self._check_open()
        name = normal_path(path)
        blob = await self._kept.store.put(stream_of(data), bytes_max=BLOB_BYTES_MAX)
        file = FileRef(blob.digest, blob.size, executable)
        self._take(WorkspaceChanges({name: file}))
        return file

    async def delete(self, path: str) -> None:
        """Remove a file from the workspace; from no folder. Raises ArtifactMissing."""
        self._check_open()
        name = normal_path(path)
        if name not in self._kept.files:
            raise ArtifactMissing(f"the workspace has no file {path!r:.200}", hint="see turn.workspace.files")
        self._take(WorkspaceChanges({}, (name,)))

    def _take(self, changes: WorkspaceChanges) -> None:
        self._check_open()
        after = applied(self._kept.files, changes)
        checked(after)
        self._kept.files = after


def no_store() -> BadSettings:
    """This engine was made without a place for artifacts."""
    return BadSettings("this engine has no artifact store", hint="pass one to Engine(artifacts=...)")


def checked_name(name: str, media_type: str) -> None:
    """Raises BadInput for a name or a media type that cannot be kept."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_LENGTH_MAX or not name.isprintable():
        raise BadInput(
            f"an artifact's name has 1 to {NAME_LENGTH_MAX} printable characters",
            hint="name it like a file",
        )
    kind, slash, rest = media_type.partition("/")
    if not (kind and slash and rest and media_type.isascii() and media_type.isprintable()):
        raise BadInput(f"{media_type!r:.100} is not a media type", hint="write it as text/plain or image/png")


def stream_of(data: Data) -> AsyncIterable[bytes]:
    """Bytes, a file on disk, or a stream, as a stream."""
    if isinstance(data, bytes | bytearray | memoryview):
        return one_chunk(bytes(data))
    if isinstance(data, Path):
        return _file(data)
    if isinstance(data, str) or not hasattr(data, "__aiter__"):
        raise BadInput(
            f"an artifact is bytes, a Path, or a stream of bytes, not {type(data).__name__}", hint="encode text first"
        )
    return data


async def _file(path: Path) -> AsyncIterator[bytes]:
    file = await in_thread(path.open, "rb")
    try:
        while chunk := await in_thread(file.read, CHUNK_BYTES):
            yield chunk
    finally:
        await in_thread(file.close)
