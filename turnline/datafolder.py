"""The data folder: one process at a time, and the secrets that it makes for itself."""

import fcntl
import os
import secrets
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sessionstore.errors import BadSettings

LOCK = "turnline.lock"
TOKEN = "token"  # noqa: S105 - the name of a file
COOKIE_SECRET = "cookie-secret"  # noqa: S105 - the name of a file
TAKES_MAX = 10
TAKE_AGAIN_S = 0.02
REMAKE = "delete the file, and a new one is made; who used the old one signs in again"


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a data folder, and the agents of its app; none when it has not said."""

    pid: str
    agents: frozenset[str]


class DataFolder:
    """A folder that this process holds: the lock goes with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: IO[str] | None = None

    def hold(self, agents: Iterable[str] = ()) -> None:
        """Make the folder if need be, lock it, and say who holds it: this process, with these agents.

        Raises BadSettings naming the process that has it.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = self._locked((self.path / LOCK).open("a+", encoding="utf-8"), agents)
        except OSError as error:
            raise self._unusable(error) from error

    def _locked(self, lock: IO[str], agents: Iterable[str]) -> IO[str]:
        try:
            _take(lock)
        except BlockingIOError as error:
            lock.seek(0)
            holder = _holder(lock.read())
            lock.close()
            raise BadSettings(
                f"the data folder {self.path} is in use by process {holder.pid}",
                hint="stop that process, or set TURNLINE_DATA to another folder",
            ) from error
        try:
            lock.seek(0)
            lock.truncate()
            lock.write("\n".join((str(os.getpid()), *sorted(agents))))
            lock.flush()
        except OSError:
            # What could not be written stays in the buffer, and closing would raise over it again.
            with suppress(OSError):
                lock.close()
            raise
        return lock

    def release(self) -> None:
        """Let another process have it."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def secret(self, name: str) -> str:
        """A secret of this installation, made on first use and kept in a file that only the owner can read.

        Raises BadSettings for a file that cannot be made or read, and for an empty one: everybody knows what it says.
        """
        path = self.path / name
        try:
            if not path.exists():
                self._make(path)
            found = path.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise self._unusable(error) from error
        except UnicodeDecodeError as error:
            raise BadSettings(f"{path} cannot be read: it is not text", hint=REMAKE) from error
        if not found:
            raise BadSettings(f"the secret in {path} is empty", hint=REMAKE)
        return found

    @staticmethod
    def _make(path: Path) -> None:
        # Written whole under another name first: a crash must not leave half a secret.
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_urlsafe(32))
                file.flush()
                os.fsync(file.fileno())
            draft.rename(path)
        finally:
            draft.unlink(missing_ok=True)

    def _unusable(self, error: OSError) -> BadSettings:
        return BadSettings(
            f"the data folder {self.path} cannot be used: {error.strerror}",
            hint="set TURNLINE_DATA to a folder that can be written, on a disk with room",
        )


def _take(lock: IO[str]) -> None:
    """Whoever only asks who holds it has it for a moment, too: one refusal does not yet mean that it is held."""
    for _ in range(TAKES_MAX - 1):
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(TAKE_AGAIN_S)
    return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_holder(path: Path) -> Holder | None:
    """Who holds a data folder; None when nobody does."""
    try:
        with (path / LOCK).open("r+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _holder(lock.read())
    except (OSError, UnicodeDecodeError):
        return None
    return None


def _holder(text: str) -> Holder:
    pid, *agents = text.split("\n")
    return Holder(pid.strip() or "unknown", frozenset(agents) - {""})
