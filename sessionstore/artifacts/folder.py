"""Artifacts in a folder of a local disk.

    ROOT/ab/ab12...  a blob under its digest, in one of 256 folders by its first two digits
    ROOT/tmp/...     what is being written; it is renamed when it is whole and flushed
    ROOT/lock        held together by puts at their rename, alone by a removal

A blob appears by one rename of a flushed file, so it is whole or not there, whatever happens half way. The lock is for
one danger: a removal that looks at a blob's age, finds it old, and removes it just after a put has made it new.
"""

import asyncio
import contextlib
import errno
import fcntl
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from sessionstore.artifact import (
    BLOB_BYTES_MAX,
    CHUNK_BYTES,
    DIGEST,
    Blob,
    Intake,
    StoredBlob,
    checked_digest,
    gathered,
    verified,
)
from sessionstore.errors import ArtifactMissing, StoreBusy, StoreError

P = ParamSpec("P")
T = TypeVar("T")

FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class FolderArtifacts:
    """`ArtifactStore` on a folder; several processes of one machine may share it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def put(self, data: AsyncIterable[bytes], *, bytes_max: int = BLOB_BYTES_MAX) -> Blob:
        """See `ArtifactStore.put`."""
        intake = Intake(bytes_max)
        draft = await in_thread(self._begin)
        try:
            async for chunk in gathered(data, intake):
                await in_thread(self._write, draft.fd, chunk)
            blob = intake.blob()
            await in_thread(self._keep, draft, blob.digest)
        finally:
            await in_thread(draft.drop)
        return blob

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        """See `ArtifactStore.read`."""
        async with contextlib.aclosing(self._chunks(checked_digest(digest))) as chunks:
            async for chunk in verified(digest, chunks):
                yield chunk

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """See `ArtifactStore.sizes`."""
        wanted = [checked_digest(digest) for digest in digests]
        return await in_thread(self._sizes, wanted)

    async def pages(self) -> AsyncIterator[list[StoredBlob]]:
        """See `ArtifactStore.pages`: one page a folder."""
        for shard in await in_thread(self._shards):
            if page := await in_thread(_stored, shard):
                yield page

    async def delete(self, digests: Sequence[str], *, stored_before: float) -> list[str]:
        """See `ArtifactStore.delete`."""
        wanted = [checked_digest(digest) for digest in digests]
        return await in_thread(self._delete, wanted, stored_before)

    async def sweep(self, *, begun_before: float) -> int:
        """See `ArtifactStore.sweep`."""
        return await in_thread(self._sweep, begun_before)

    async def close(self) -> None:
        """See `ArtifactStore.close`."""

    def _path(self, digest: str) -> Path:
        return self.root / digest[:2] / digest

    def _begin(self) -> "_Draft":
        drafts = self.root / "tmp"
        with told(self.root):
            make_folder(drafts)
            fd, name = tempfile.mkstemp(dir=drafts)
            return _Draft(fd, Path(name))

    def _keep(self, draft: "_Draft", digest: str) -> None:
        path = self._path(digest)
        with told(self.root):
            os.fsync(draft.fd)
            make_folder(path.parent)
            with self._locked(fcntl.LOCK_SH):
                os.utime(draft.fd)
                draft.path.replace(path)
            flush_folder(path.parent)

    def _write(self, fd: int, chunk: bytes) -> None:
        view = memoryview(chunk)
        with told(self.root):
            while view:
                view = view[os.write(fd, view) :]

    async def _chunks(self, digest: str) -> AsyncGenerator[bytes, None]:
        fd = await in_thread(self._open, digest)
        try:
            while chunk := await in_thread(self._read, fd):
                yield chunk
        finally:
            os.close(fd)

    def _open(self, digest: str) -> int:
        with told(self.root):
            try:
                return os.open(self._path(digest), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError as error:
                raise missing(digest) from error

    def _read(self, fd: int) -> bytes:
        with told(self.root):
            return os.read(fd, CHUNK_BYTES)

    def _sizes(self, digests: Sequence[str]) -> dict[str, int]:
        found = {}
        for digest in digests:
            with contextlib.suppress(FileNotFoundError), told(self.root):
                found[digest] = self._path(digest).lstat().st_size
        return found

    def _shards(self) -> list[Path]:
        with told(self.root):
            try:
                return sorted(path for path in self.root.iterdir() if len(path.name) == 2 and path.is_dir())
            except FileNotFoundError:
                return []

    def _delete(self, digests: Sequence[str], stored_before: float) -> list[str]:
        removed = []
        for digest in digests:
            path = self._path(digest)
            with contextlib.suppress(FileNotFoundError), told(self.root), self._locked(fcntl.LOCK_EX):
                if path.lstat().st_mtime < stored_before:
                    path.unlink()
                    removed.append(digest)
        return removed

    def _sweep(self, begun_before: float) -> int:
        swept = 0
        with told(self.root):
            drafts = list((self.root / "tmp").glob("*"))
        for path in drafts:
            # Each chunk that is written makes the draft new again, so one that is being written is never old.
            with contextlib.suppress(FileNotFoundError), told(self.root):
                if path.lstat().st_mtime < begun_before:
                    path.unlink()
                    swept += 1
        return swept

    @contextlib.contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        fd = os.open(self.root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, how)
            yield
        finally:
            os.close(fd)


class _Draft:
    """A file that is being written, and is gone afterwards unless it was renamed."""

    __slots__ = ("fd", "path")

    def __init__(self, fd: int, path: Path) -> None:
        self.fd = fd
        self.path = path

    def drop(self) -> None:
        """Close it, and remove it under this name."""
        os.close(self.fd)
        self.path.unlink(missing_ok=True)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run it in a thread and wait for its end, even when this task is cancelled meanwhile: what follows may close the
    file that the thread is still writing to."""
    running = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def missing(digest: str) -> ArtifactMissing:
    """Nothing is stored under this digest."""
    return ArtifactMissing(
        f"there is no artifact {digest}", hint="it was removed, or TURNLINE_ARTIFACTS names another place"
    )


@contextlib.contextmanager
def told(root: Path | str) -> Iterator[None]:
    """Say what the disk refused in our own words. A missing file is left to the caller."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in FULL:
            raise StoreBusy(
                f"the disk under {root} is full; nothing was stored", hint="free some space; what was stored is kept"
            ) from error
        raise StoreError(
            f"{root} cannot be used: {error.strerror}", hint="look at the disk and at the rights of this user"
        ) from error


def make_folder(path: Path) -> None:
    """Make a folder that is still there after a power cut."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return None
    except FileNotFoundError:
        make_folder(path.parent)
        return make_folder(path)
    flush_folder(path.parent)
    return None


def flush_folder(path: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _stored(shard: Path) -> list[StoredBlob]:
    page = []
    with told(shard), os.scandir(shard) as entries:
        for entry in entries:
            if DIGEST.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(FileNotFoundError):
                    about = entry.stat(follow_symlinks=False)
                    page.append(StoredBlob(entry.name, about.st_size, about.st_mtime))
    return page
