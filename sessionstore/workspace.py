"""A workspace: the files of a session, as paths and digests. Pure: nothing here touches a disk.

Paths are relative, with `/`, in Unicode's NFC form. What some file system would read as another place, or as another
file of the same workspace, is refused: `..`, absolute paths, backslashes, names that differ in case only.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, assert_never

from sessionstore.errors import BadInput, TooLarge

FILES_MAX: Final = 2_000
WORKSPACE_BYTES_MAX: Final = 4_294_967_296
PATH_BYTES_MAX: Final = 1_024
NAME_BYTES_MAX: Final = 255
DRAFT_PREFIX: Final = ".turnline-"  # files that are being written; never part of a workspace


@dataclass(frozen=True, slots=True)
class FileRef:
    """One file: its content's digest, its size in bytes, and whether it may be executed."""

    digest: str
    size: int
    executable: bool = False

    def to_json(self) -> dict[str, Any]:
        """As events and records spell it; `mode` only where it says something."""
        item: dict[str, Any] = {"digest": self.digest, "size": self.size}
        return {**item, "mode": 0o755} if self.executable else item


Workspace = Mapping[str, FileRef]


@dataclass(frozen=True, slots=True)
class Changes:
    """From one workspace to another: files that are new or different, and paths that are gone."""

    set: Mapping[str, FileRef] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.set or self.removed)

    def to_json(self) -> dict[str, Any]:
        """The body of a `workspace.changed` event."""
        return {"set": {path: file.to_json() for path, file in self.set.items()}, "removed": list(self.removed)}


def workspace_of(record: Mapping[str, Any]) -> dict[str, FileRef]:
    """The workspace that a record, and so a checkpoint, holds."""
    return workspace_from(record["artifacts"].get("workspace", {}))


def workspace_from(items: Mapping[str, Mapping[str, Any]]) -> dict[str, FileRef]:
    """A workspace as records spell it."""
    return {path: FileRef(item["digest"], item["size"], "mode" in item) for path, item in items.items()}


def changes_between(before: Workspace, after: Workspace) -> Changes:
    """What leads from one to the other, in order of the paths."""
    changed = {path: after[path] for path in sorted(after) if before.get(path) != after[path]}
    return Changes(changed, tuple(sorted(before.keys() - after.keys())))


def applied(before: Workspace, changes: Changes) -> dict[str, FileRef]:
    """The workspace after the changes, by path."""
    kept = {path: file for path, file in before.items() if path not in changes.removed}
    return dict(sorted({**kept, **changes.set}.items()))


def normal_path(path: str) -> str:
    """The one spelling of a path. Raises BadInput for one that leads outside, or that systems read differently."""
    if not isinstance(path, str):
        raise BadInput(f"a path is text, not {type(path).__name__}", hint="give a relative path such as src/main.py")
    normal = unicodedata.normalize("NFC", path)
    reason = _reason_against(normal)
    if reason:
        raise BadInput(
            f"{path!r:.200} is no path of a workspace: {reason}", hint="give a relative path such as src/a.py"
        )
    return normal


def _reason_against(path: str) -> str:
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if length > PATH_BYTES_MAX:
        return f"it has {length} bytes, {PATH_BYTES_MAX} fit"
    if path.startswith("/"):
        return "it is absolute"
    if any(char == "\\" or unicodedata.category(char) in ("Cc", "Cf", "Cn", "Zl", "Zp") for char in path):
        return "it holds a backslash, or characters that cannot be seen"
    return next((reason for name in path.split("/") if (reason := _reason_against_name(name))), "")


def _reason_against_name(name: str) -> str:
    if name in ("", ".", ".."):
        return "an empty part, `.` or `..` leads elsewhere"
    if name != name.rstrip(". "):
        return "a part ends with a dot or a space, which some systems drop"
    if len(name.encode()) > NAME_BYTES_MAX:
        return f"a part has more than {NAME_BYTES_MAX} bytes"
    if name.casefold().startswith(DRAFT_PREFIX):
        return f"names that begin with {DRAFT_PREFIX} are files that are being written"
    return ""


def checked(workspace: Workspace) -> Workspace:
    """The workspace, when it can exist on any disk and is within the limits. Raises BadInput or TooLarge."""
    if len(workspace) > FILES_MAX:
        raise TooLarge(
            f"the workspace has {len(workspace)} files, {FILES_MAX} fit", hint="leave folders out, or pack them"
        )
    total = sum(file.size for file in workspace.values())
    if total > WORKSPACE_BYTES_MAX:
        raise TooLarge(f"the workspace has {total} bytes, {WORKSPACE_BYTES_MAX} fit", hint="leave large files out")
    folded: dict[str, str] = {}
    for path in workspace:
        other = folded.setdefault(_folded(path), path)
        if other != path:
            raise BadInput(f"{path!r} and {other!r} are one file on some disks", hint="rename one of them")
    for path in workspace:
        for folder in folders_above(_folded(path)):
            if folder in folded:
                raise BadInput(f"{folded[folder]!r} is a file and the folder of {path!r}", hint="rename one of them")
    return workspace


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", path).casefold())


def folders_above(path: str) -> Iterable[str]:
    """`a`, `a/b` of `a/b/c`."""
    parts = path.split("/")
    return ("/".join(parts[:n]) for n in range(1, len(parts)))


class Elsewhere(StrEnum):
    """What stands at a path and is no file of a workspace."""

    FOLDER = "folder"
    OTHER = "other"  # a link, a socket and the like, or below such a one


Found = FileRef | Elsewhere | None


class Why(StrEnum):
    """Why a path is left as it is."""

    MODIFIED = "modified"  # the file is not the one that was known there
    UNTRACKED = "untracked"  # nothing was known there, and something is
    IN_THE_WAY = "in_the_way"  # a folder or a link stands there


@dataclass(frozen=True, slots=True)
class Conflict:
    """A path that was changed outside, and is not touched."""

    path: str
    why: Why


@dataclass(frozen=True, slots=True)
class Plan:
    """What a restoration does: write these files, remove those, leave conflicts alone."""

    write: Mapping[str, FileRef]
    remove: tuple[str, ...]
    conflicts: tuple[Conflict, ...]


def plan_restore(found: Mapping[str, Found], target: Workspace, known: Workspace) -> Plan:
    """How to make a folder hold `target`, where we last knew it to hold `known` and now `found` is there.

    A file is overwritten or removed only when it is just what was known; one that is gone is written again, since
    nothing can be lost by that. What is what it should be is left alone.
    """
    write: dict[str, FileRef] = {}
    remove: list[str] = []
    conflicts: list[Conflict] = []
    for path in sorted({*target, *known}):
        wanted, there = target.get(path), found.get(path)
        if there == wanted:
            continue
        why = _why_not(there, known.get(path), _makes_room(path, target, known))
        if why is not None:
            if wanted is not None or there is not Elsewhere.FOLDER:
                conflicts.append(Conflict(path, why))
        elif wanted is None:
            remove.append(path)
        else:
            write[path] = wanted
    return Plan(write, tuple(remove), tuple(conflicts))


def _why_not(there: Found, known: FileRef | None, makes_room: bool) -> Why | None:
    match there:
        case None:
            return None
        case Elsewhere.FOLDER:
            return None if makes_room else Why.IN_THE_WAY
        case Elsewhere.OTHER:
            return Why.IN_THE_WAY
        case FileRef():
            if known is None:
                return Why.UNTRACKED
            return None if there == known else Why.MODIFIED
        case _:
            assert_never(there)


def _makes_room(path: str, target: Workspace, known: Workspace) -> bool:
    """Whether a folder stands there only because of files that go away: then its removal makes room for the file."""
    return path in target and any(other.startswith(f"{path}/") for other in known.keys() - target.keys())
