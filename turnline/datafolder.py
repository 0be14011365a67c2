"""The data folder: one process at a time, and the secrets that it makes for itself."""

import fcntl
import os
import secrets
from pathlib import Path
from typing import IO

from sessionstore.errors import BadSettings

LOCK = "turnline.lock"
TOKEN = "token"  # noqa: S105 - the name of a file
COOKIE_SECRET = "cookie-secret"  # noqa: S105 - the name of a file


class DataFolder:
    """A folder that this process holds: the lock goes with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    def hold(self) -> None:
        """Make the folder if need be, and lock it. Raises BadSettings naming the process that has it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / LOCK).open("a+")
        except OSError as error:
            raise BadSettings(
                f"the data folder {self.path} cannot be used: {error.strerror}",
                hint="set TURNLINE_DATA to a folder that can be written",
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            pid = lock.read().strip()
            lock.close()
            raise BadSettings(
                f"the data folder {self.path} is in use by process {pid or 'unknown'}",
                hint="stop that process, or set TURNLINE_DATA to another folder",
            ) from error
        lock.seek(0)
        lock.truncate()
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def release(self) -> None:
        """Let another process have it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def secret(self, name: str) -> str:
        """A secret of this installation, made on first use and kept in a file that only the owner can read."""
        path = self.path / name
        if not path.exists():
            made = secrets.token_urlsafe(32)
            # Written whole under another name first: a crash must not leave half a secret.
            draft = path.with_name(f"{name}.{os.getpid()}")
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(made)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(path)
        return path.read_text(encoding="utf-8").strip()


def lock_holder(path: Path) -> str:
    """The pid of the process that holds a data folder, or "" when nobody does."""
    try:
        with (path / LOCK).open("r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read().strip() or "unknown"
    except OSError:
        return ""
    return ""
