"""Virtual time: an event loop whose clock jumps to the next timer as soon as nothing is left to do.

A two-hour wait takes no time, and a run with the same inputs takes the same course. Threads would break that, so what
is handed to an executor runs at once, in place. Waiting for something that no timer will bring is an error, not a hang.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

STARTS_AT = 1_800_000_000.0


class Stuck(RuntimeError):
    """Everything waits, and nothing is scheduled that could end it."""


class _JumpingSelector(selectors.SelectSelector):
    """Does not wait: it moves the clock forward instead."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("everything waits, and no timer is set")
        if timeout > 0:
            self._jump(timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self._forward))

    def time(self) -> float:
        """Virtual seconds since the loop began."""
        return self._now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":  # type: ignore[override]
        """At once, in this thread."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _forward(self, seconds: float) -> None:
        # Rounding must not leave the clock just before the timer that it was moved for.
        self._now += seconds + 1e-9


class VirtualClock:
    """The store's clock on a virtual loop. `jump` sets the wall clock as an administrator would."""

    def __init__(self) -> None:
        self._offset = STARTS_AT

    def now(self) -> float:
        """Unix seconds."""
        return self._offset + asyncio.get_running_loop().time()

    def monotonic(self) -> float:
        """Seconds since the loop began."""
        return asyncio.get_running_loop().time()

    def jump(self, seconds: float) -> None:
        """Move the wall clock forward or back."""
        self._offset += seconds


def run_virtually(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)
