"""A folder that is read and written by paths of a workspace, and never left: each part of a path is opened by itself,
without following links, so that not even a link that is put there meanwhile leads outside."""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from sessionstore.errors import BadInput, TooLarge
from sessionstore.workspace import DRAFT_PREFIX, Elsewhere, folders_above, normal_path

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
WALKED_MAX: Final = 100_000


@dataclass(frozen=True, slots=True)
class Stamp:
    """By what a change of a file is noticed without reading it."""

    inode: int
    size: int
    changed_ns: int
    executable: bool


@dataclass(frozen=True, slots=True)
class Absent:
    """Nothing is there, and something was expected."""


@dataclass(frozen=True, slots=True)
class Walked:
    """The files of a folder, and what is no file of a workspace: links, sockets, names that are no paths."""

    files: tuple[str, ...]
    skipped: tuple[str, ...]


class ConfinedFolder:
    """Files below `root`. Paths are checked; all methods block."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def look(self, path: str) -> Stamp | Elsewhere | None:
        """What is there; None for nothing, and where a file stands in a folder's place."""
        try:
            with self._parent(path) as (folder, name):
                return _stamp(os.stat(name, dir_fd=folder, follow_symlinks=False))
        except (FileNotFoundError, NotADirectoryError):
            return Elsewhere.OTHER if self._through_a_link(path) else None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return Elsewhere.OTHER
            raise

    def open(self, path: str) -> int:
        """A descriptor to read from."""
        with self._parent(path) as (folder, name):
            return os.open(name, _FILE, dir_fd=folder)

    def begin(self, path: str) -> "Writing":
        """Write a file under another name beside its own; it replaces the old one when it is whole."""
        with self._parent(path, make=True) as (folder, name):
            draft = f"{DRAFT_PREFIX}{secrets.token_hex(8)}"
            fd = os.open(
                draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder
            )
            return Writing(os.dup(folder), fd, draft, name)

    def remove(self, path: str, expected: Stamp) -> bool:
        """Remove a file, and the folders above it that are empty then. False when it is not as expected."""
        with self._parent(path) as (folder, name):
            if _stamp(os.stat(name, dir_fd=folder, follow_symlinks=False)) != expected:
                return False
            os.unlink(name, dir_fd=folder)
            os.fsync(folder)
        for above in sorted(folders_above(path), reverse=True):
            try:
                with self._parent(above) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except OSError:
                break
        return True

    def walk(self, ignore: Sequence[str] = ()) -> Walked:
        """All files, without following links. `ignore` are patterns of names that are left out, with what is below."""
        files: list[str] = []
        skipped: list[str] = []
        todo = [""]
        while todo:
            prefix = todo.pop()
            for name, is_folder, is_file in self._entries(prefix):
                if name.startswith(DRAFT_PREFIX) or left_out(name, ignore):
                    continue
                path = f"{prefix}{name}"
                if is_folder:
                    todo.append(f"{path}/")
                elif is_file and _is_normal(path):
                    files.append(path)
                else:
                    skipped.append(path)
                if len(files) + len(skipped) + len(todo) > WALKED_MAX:
                    raise TooLarge(f"{self.root} holds more than {WALKED_MAX} entries", hint="leave folders out")
        return Walked(tuple(sorted(files)), tuple(sorted(skipped)))

    def _entries(self, prefix: str) -> list[tuple[str, bool, bool]]:
        """Name, whether it is a folder, whether it is a plain file."""
        with self._folder(prefix.split("/")[:-1]) as folder, os.scandir(folder) as entries:
            return [(e.name, e.is_dir(follow_symlinks=False), e.is_file(follow_symlinks=False)) for e in entries]

    @contextlib.contextmanager
    def _parent(self, path: str, make: bool = False) -> Iterator[tuple[int, str]]:
        *folders, name = normal_path(path).split("/")
        with self._folder(folders, make) as folder:
            yield folder, name

    @contextlib.contextmanager
    def _folder(self, parts: Sequence[str], make: bool = False) -> Iterator[int]:
        if make:
            self.root.mkdir(parents=True, exist_ok=True)
        fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=fd)
                below = os.open(part, _FOLDER, dir_fd=fd)
                os.close(fd)
                fd = below
            yield fd
        finally:
            os.close(fd)

    def _through_a_link(self, path: str) -> bool:
        return any((self.root / above).is_symlink() for above in folders_above(path))


class Writing:
    """A file that is being written beside its final name."""

    __slots__ = ("_draft", "_folder", "_name", "fd")

    def __init__(self, folder: int, fd: int, draft: str, name: str) -> None:
        self._folder = folder
        self.fd = fd
        self._draft = draft
        self._name = name

    def write(self, chunk: bytes) -> None:
        """Add bytes."""
        view = memoryview(chunk)
        while view:
            view = view[os.write(self.fd, view) :]

    def keep(self, executable: bool, expected: Stamp | None) -> Stamp | Elsewhere | Absent | None:
        """Give it its name; durable on return, which gives None. Where what is there is not as expected, nothing is
        done, and that is given back."""
        os.fchmod(self.fd, 0o755 if executable else 0o644)
        os.fsync(self.fd)
        there = self._there()
        if there != expected:
            return there or Absent()
        os.rename(self._draft, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        os.fsync(self._folder)
        return None

    def drop(self) -> None:
        """Let go; the draft is removed unless it was kept."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._draft, dir_fd=self._folder)
        os.close(self.fd)
        os.close(self._folder)

    def _there(self) -> Stamp | Elsewhere | None:
        try:
            return _stamp(os.stat(self._name, dir_fd=self._folder, follow_symlinks=False))
        except FileNotFoundError:
            return None


def _stamp(about: os.stat_result) -> Stamp | Elsewhere:
    if stat.S_ISDIR(about.st_mode):
        return Elsewhere.FOLDER
    if not stat.S_ISREG(about.st_mode):
        return Elsewhere.OTHER
    return Stamp(about.st_ino, about.st_size, about.st_mtime_ns, bool(about.st_mode & stat.S_IXUSR))


def left_out(path: str, ignore: Sequence[str]) -> bool:
    """Whether a part of the path fits one of the patterns."""
    return any(fnmatchcase(name, pattern) for name in path.split("/") for pattern in ignore)


def _is_normal(path: str) -> bool:
    try:
        return normal_path(path) == path
    except BadInput:
        return False
