"""A chronicle: what happened in one simulated world, in order, and a digest that two equal courses share."""

import asyncio
import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from sessionstore.errors import Damaged
from turnline.testing.life import Died, current_life

SHOWN_KEYS = ("session", "effect", "turn", "state", "action", "reason", "error", "attempt", "loop", "job")


class Chronicle:
    """Lines with virtual times: what is told to it, and what the engine logs meanwhile, which depends on the level set.

    `surprises` are errors that no simulated fault explains.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.surprises: list[str] = []
        self._digest = hashlib.sha256()

    def tell(self, what: str) -> None:
        """Add a line that belongs to the course."""
        self._digest.update(self._add(what).encode())

    def seal(self, text: str) -> None:
        """Have the digest be over this too."""
        self._digest.update(text.encode())

    @property
    def digest(self) -> str:
        """SHA-256 over all that was told and sealed, hex."""
        return self._digest.hexdigest()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take over what the engine logs meanwhile."""
        # In place: loggers that are in use already hold on to this very list.
        processors = structlog.get_config()["processors"]
        before = list(processors)
        processors[:] = [self._logged]
        try:
            yield
        finally:
            processors[:] = before

    def _add(self, what: str) -> str:
        life = current_life()
        line = f"{asyncio.get_running_loop().time():10.3f} {life.name if life else '-':<6} {what}"
        self.lines.append(line)
        return line

    def _logged(self, logger: object, method: str, event: Any) -> Any:
        life = current_life()
        if life is None or not life.ended:
            said = " ".join(f"{key}={str(event[key])[:90]}" for key in SHOWN_KEYS if event.get(key))
            self._add(f"{event['event']} {said}")
            error = event.get("exc_info")
            error = error if isinstance(error, BaseException) else _current(error)
            if error is not None and not isinstance(error, Expected | Died | TimeoutError):
                self.surprises.append(f"{event['event']}: {type(error).__name__}: {error}")
            if event.get("code") == Damaged.code:
                self.surprises.append(f"{event['event']}: {event.get('error')}")
        raise structlog.DropEvent


class Expected(Exception):
    """An error that the simulation itself made."""


def _current(exc_info: object) -> BaseException | None:
    return sys.exc_info()[1] if exc_info is True else None
