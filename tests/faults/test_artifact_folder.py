"""The folder of artifacts when the process dies half way, the disk is full, or somebody has put a link there."""

import asyncio
import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from sessionstore.artifact import CHUNK_BYTES, one_chunk, read_whole
from sessionstore.artifacts.folder import FolderArtifacts
from sessionstore.errors import ArtifactMissing, StoreBusy, StoreError

FUTURE = 4_000_000_000.0
# Dies as `kill -9` does, at the n-th call of a function of `os`.
DYING = """
import asyncio, os, sys
from pathlib import Path
from sessionstore.artifact import one_chunk
from sessionstore.artifacts.folder import FolderArtifacts

real, left = getattr(os, sys.argv[2]), [int(sys.argv[3])]

def dying(*args, **kwargs):
    left[0] -= 1
    if left[0] == 0:
        os._exit(9)
    return real(*args, **kwargs)

setattr(os, sys.argv[2], dying)
asyncio.run(FolderArtifacts(Path(sys.argv[1])).put(one_chunk(bytes(3 * 1048576))))
"""


async def listed(artifacts: FolderArtifacts) -> list[str]:
    return [blob.digest async for page in artifacts.pages() for blob in page]


# Of fsync: 1 and 2 make the folders durable, 3 the bytes, 4 the blob's folder, 5 its name after the rename.
@pytest.mark.parametrize(
    ("function", "call", "there"),
    [("write", 1, 0), ("write", 3, 0), ("fsync", 1, 0), ("fsync", 3, 0), ("replace", 1, 0), ("fsync", 5, 1)],
)
async def test_a_death_half_way_leaves_a_whole_blob_or_none(
    tmp_path: Path, function: str, call: int, there: int
) -> None:
    command = [sys.executable, "-c", DYING, str(tmp_path / "artifacts"), function, str(call)]
    process = await asyncio.create_subprocess_exec(*command, stderr=subprocess.DEVNULL)
    assert await process.wait() == 9
    artifacts = FolderArtifacts(tmp_path / "artifacts")
    found = await listed(artifacts)
    assert len(found) == there
    for digest in found:
        assert await read_whole(artifacts.read(digest)) == bytes(3 * CHUNK_BYTES)
    again = await artifacts.put(one_chunk(bytes(3 * CHUNK_BYTES)))
    assert await listed(artifacts) == [again.digest]


async def test_what_a_dead_put_left_behind_is_swept_when_it_is_old(tmp_path: Path) -> None:
    command = [sys.executable, "-c", DYING, str(tmp_path), "write", "2"]
    process = await asyncio.create_subprocess_exec(*command)
    assert await process.wait() == 9
    artifacts = FolderArtifacts(tmp_path)
    assert len(list((tmp_path / "tmp").iterdir())) == 1
    assert await artifacts.sweep(begun_before=1.0) == 0
    assert await artifacts.sweep(begun_before=FUTURE) == 1
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("function", ["write", "fsync"])
@pytest.mark.parametrize(
    ("code", "raised"), [(errno.ENOSPC, StoreBusy), (errno.EDQUOT, StoreBusy), (errno.EIO, StoreError)]
)
async def test_a_full_or_broken_disk_is_told_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, code: int, raised: type[Exception]
) -> None:
    artifacts = FolderArtifacts(tmp_path)
    kept = await artifacts.put(one_chunk(b"kept"))

    def refusing(*args: Any) -> int:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patched:
        patched.setattr(os, function, refusing)
        with pytest.raises(raised) as told:
            await artifacts.put(one_chunk(b"too much"))
    assert type(told.value) is raised
    assert str(tmp_path) in str(told.value)
    assert await listed(artifacts) == [kept.digest]
    assert list((tmp_path / "tmp").iterdir()) == []
    assert await read_whole(artifacts.read(kept.digest)) == b"kept"
    await artifacts.put(one_chunk(b"too much"))


async def test_a_link_in_a_blobs_place_is_not_followed(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path / "artifacts")
    blob = await artifacts.put(one_chunk(b"content"))
    path = tmp_path / "artifacts" / blob.digest[:2] / blob.digest
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    with pytest.raises(StoreError):
        await read_whole(artifacts.read(blob.digest))
    assert await listed(artifacts) == []


async def test_a_removal_that_found_a_blob_old_does_not_take_the_one_that_was_put_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = FolderArtifacts(tmp_path)
    blob = await artifacts.put(one_chunk(b"wanted"))
    path = tmp_path / blob.digest[:2] / blob.digest
    os.utime(path, (1_000.0, 1_000.0))
    order: list[str] = []
    looked, at_the_rename = threading.Event(), threading.Event()
    lstat, unlink, replace, flock = Path.lstat, Path.unlink, Path.replace, fcntl.flock

    def looking(self: Path) -> os.stat_result:
        about = lstat(self)
        if self == path and not looked.is_set():
            looked.set()
            assert at_the_rename.wait(30)
        return about

    def locking(fd: int, how: int) -> None:
        if how == fcntl.LOCK_SH:
            at_the_rename.set()  # from here it waits, when there is somebody to wait for
        flock(fd, how)

    def unlinking(self: Path, missing_ok: bool = False) -> None:
        order.extend(["removed"] * (self == path))
        unlink(self, missing_ok)

    def renaming(self: Path, target: Path) -> Path:
        order.append("renamed")
        return replace(self, target)

    for owner, name, function in (
        (Path, "lstat", looking),
        (Path, "unlink", unlinking),
        (Path, "replace", renaming),
        (fcntl, "flock", locking),
    ):
        monkeypatch.setattr(owner, name, function)
    removing = asyncio.ensure_future(artifacts.delete([blob.digest], stored_before=2_000.0))
    await asyncio.to_thread(looked.wait, 30)
    await artifacts.put(one_chunk(b"wanted"))
    await removing
    assert order == ["removed", "renamed"]
    assert await read_whole(artifacts.read(blob.digest)) == b"wanted"


async def test_a_missing_folder_is_an_empty_store(tmp_path: Path) -> None:
    artifacts = FolderArtifacts(tmp_path / "not" / "there")
    assert await listed(artifacts) == []
    assert await artifacts.sweep(begun_before=FUTURE) == 0
    with pytest.raises(ArtifactMissing):
        await read_whole(artifacts.read("0" * 64))
