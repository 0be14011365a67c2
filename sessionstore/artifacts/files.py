"""Between a folder and the artifact store: capture what a folder holds, and make it hold what a session knows.

Nothing that was changed outside is overwritten. Before a restoration touches a file, what was there is in the store, so
that it can be undone; files that are not what was known are conflicts, and stay.
"""

import hashlib
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sessionstore.artifact import CHUNK_BYTES, ArtifactStore
from sessionstore.artifacts.confined import ConfinedFolder, Stamp, Writing, left_out
from sessionstore.artifacts.folder import in_thread, missing, told
from sessionstore.errors import BadInput, FilesChanged
from sessionstore.workspace import (
    Changes,
    Conflict,
    Elsewhere,
    FileRef,
    Found,
    Plan,
    Why,
    Workspace,
    changes_between,
    checked,
    plan_restore,
)


@dataclass(frozen=True, slots=True)
class Captured:
    """What a folder holds now, how that differs, and what is no file of a workspace (links, sockets, odd names)."""

    workspace: Workspace
    changes: Changes
    skipped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restoration did. `before` is what was there, conflicts included, with its bytes in the store; `after` is
    what is there now. Restoring `before` where `after` is known undoes it, for which a commit must refer to `before`:
    what nothing refers to is collected."""

    before: Workspace
    after: Workspace
    written: tuple[str, ...]
    removed: tuple[str, ...]
    conflicts: tuple[Conflict, ...]


async def capture(store: ArtifactStore, folder: Path, known: Workspace, ignore: Sequence[str] = ()) -> Captured:
    """Store what is new or different in the folder; on return it is durable. `ignore` are patterns of names that are
    left out: what is known of such paths stays. Raises BadInput and TooLarge for what no workspace can hold."""
    place = ConfinedFolder(folder)
    with told(folder):
        try:
            walked = await in_thread(place.walk, ignore)
        except FileNotFoundError as error:
            raise BadInput(f"there is no folder {folder}", hint="materialise the workspace first") from error
    found = await _look(place, walked.files)
    files = {path: file for path, file in found.items() if isinstance(file, FileRef)}
    kept = {path: file for path, file in known.items() if left_out(path, ignore)}
    checked({**kept, **files})
    for path, file in files.items():
        before = known.get(path)
        if before is None or before.digest != file.digest:
            files[path] = await _stored(store, place, path, file)
    after = checked({**kept, **files})
    return Captured(after, changes_between(known, after), walked.skipped)


async def restore(
    store: ArtifactStore, folder: Path, target: Workspace, known: Workspace, *, dry_run: bool = False
) -> Restored:
    """Make the folder hold `target`, where it was last known to hold `known`.

    Files that were changed outside are reported and not touched; files that neither knows of are not looked at. Each
    file is replaced whole. Run again after a crash it goes on where it was. Raises ArtifactMissing before anything is
    touched. `dry_run` only looks.
    """
    place = ConfinedFolder(folder)
    checked(target)
    stamps, found = await _examine(place, sorted({*target, *known}))
    plan = plan_restore(found, target, known)
    there = {path: file for path, file in found.items() if isinstance(file, FileRef)}
    if dry_run:
        after = {path: file for path, file in {**there, **plan.write}.items() if path not in plan.remove}
        return Restored(there, after, tuple(plan.write), plan.remove, plan.conflicts)
    await _require(store, plan.write.values())
    safe = {file.digest for file in (*target.values(), *known.values())}
    for path, file in there.items():
        if file.digest not in safe:
            there[path] = await _stored(store, place, path, file)
    return await _carry_out(store, place, plan, there, stamps)


async def materialise(store: ArtifactStore, folder: Path, workspace: Workspace) -> Restored:
    """Write the workspace into a folder. Raises FilesChanged, with nothing touched, when other files are in the way."""
    seen = await restore(store, folder, workspace, {}, dry_run=True)
    if not seen.conflicts:
        seen = await restore(store, folder, workspace, {})
    if seen.conflicts:
        names = ", ".join(f"{c.path} ({c.why})" for c in seen.conflicts[:10])
        raise FilesChanged(
            f"{folder} holds {len(seen.conflicts)} other files where the workspace's belong: {names}",
            hint="use an empty folder, or capture what is there first",
        )
    return seen


async def _carry_out(
    store: ArtifactStore, place: ConfinedFolder, plan: Plan, there: Workspace, stamps: dict[str, Stamp]
) -> Restored:
    # Writes come first, so that a blob that cannot be read stops it before anything is gone; a file that needs the room
    # of removed ones waits for them.
    conflicts = {conflict.path: conflict.why for conflict in plan.conflicts}
    written: list[str] = []
    removed: list[str] = []
    blocked: list[str] = []
    for path, file in plan.write.items():
        why = await _write(store, place, path, file, stamps.get(path))
        if why is Why.IN_THE_WAY:
            blocked.append(path)
        elif why is not None:
            conflicts[path] = why
        else:
            written.append(path)
    for path in plan.remove:
        with told(place.root):
            gone = await in_thread(place.remove, path, stamps[path])
        if gone:
            removed.append(path)
        else:
            conflicts[path] = Why.MODIFIED
    for path in blocked:
        why = await _write(store, place, path, plan.write[path], stamps.get(path))
        if why is None:
            written.append(path)
        else:
            conflicts[path] = why
    after = {path: file for path, file in there.items() if path not in removed}
    after.update({path: plan.write[path] for path in written})
    told_of = tuple(Conflict(path, why) for path, why in sorted(conflicts.items()))
    return Restored(there, after, tuple(written), tuple(removed), told_of)


async def _write(
    store: ArtifactStore, place: ConfinedFolder, path: str, file: FileRef, expected: Stamp | None
) -> Why | None:
    try:
        with told(place.root):
            writing = await in_thread(_begin, place, path)
    except FileNotFoundError:
        return Why.IN_THE_WAY
    if writing is None:
        return Why.IN_THE_WAY
    try:
        async for chunk in store.read(file.digest):
            with told(place.root):
                await in_thread(writing.write, chunk)
        with told(place.root):
            return await in_thread(_keep, writing, file.executable, expected)
    finally:
        await in_thread(writing.drop)


def _begin(place: ConfinedFolder, path: str) -> Writing | None:
    try:
        return place.begin(path)
    except (NotADirectoryError, FileExistsError):
        return None


def _keep(writing: Writing, executable: bool, expected: Stamp | None) -> Why | None:
    match writing.keep(executable, expected):
        case None:
            return None
        case Elsewhere():
            return Why.IN_THE_WAY
        case _:
            return Why.MODIFIED


async def _require(store: ArtifactStore, files: Iterable[FileRef]) -> None:
    digests = sorted({file.digest for file in files})
    stored = await store.sizes(digests)
    for digest in digests:
        if digest not in stored:
            raise missing(digest)


async def _stored(store: ArtifactStore, place: ConfinedFolder, path: str, file: FileRef) -> FileRef:
    blob = await store.put(_chunks(place, path))
    return FileRef(blob.digest, blob.size, file.executable)


async def _chunks(place: ConfinedFolder, path: str) -> AsyncIterator[bytes]:
    fd = await in_thread(place.open, path)
    try:
        while chunk := await in_thread(os.read, fd, CHUNK_BYTES):
            yield chunk
    finally:
        os.close(fd)


async def _look(place: ConfinedFolder, paths: Iterable[str]) -> dict[str, Found]:
    return (await _examine(place, paths))[1]


async def _examine(place: ConfinedFolder, paths: Iterable[str]) -> tuple[dict[str, Stamp], dict[str, Found]]:
    stamps: dict[str, Stamp] = {}
    found: dict[str, Found] = {}
    for path in paths:
        with told(place.root):
            stamp, found[path] = await in_thread(_file_at, place, path)
        if stamp is not None:
            stamps[path] = stamp
    return stamps, found


def _file_at(place: ConfinedFolder, path: str) -> tuple[Stamp | None, Found]:
    """What is there, and its stamp from before it was read: what changes after that is noticed."""
    stamp = place.look(path)
    if not isinstance(stamp, Stamp):
        return None, stamp
    hashed, size = hashlib.sha256(), 0
    try:
        fd = place.open(path)
    except FileNotFoundError:
        return None, None
    try:
        while chunk := os.read(fd, CHUNK_BYTES):
            hashed.update(chunk)
            size += len(chunk)
    finally:
        os.close(fd)
    return stamp, FileRef(hashed.hexdigest(), size, stamp.executable)
