"""Time, passed in: so that whole-system runs can be simulated."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two clocks. `now` may jump (the wall's); `monotonic` only grows and means nothing elsewhere."""

    def now(self) -> float:
        """Unix seconds."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; for deadlines inside one process."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()
