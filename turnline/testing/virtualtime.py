"""Virtual time: an event loop whose clock jumps to the next timer as soon as nothing is left to do.

A two-hour wait takes no time, and a run with the same inputs takes the same course. Threads would break that, so what
is handed to an executor runs at once, in place. Waiting for something that no timer will bring is an error, not a hang.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, TypeVar

from turnline.testing.life import Step, current_life

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
        # Beside the loop's own wake-up pipe nothing is registered, unless somebody uses real sockets.
        return super().select(0) if len(self.get_map()) > 1 else []


class VirtualLoop(asyncio.SelectorEventLoop):
    """See the module."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_JumpingSelector(self._forward))

    def time(self) -> float:
        """Virtual seconds since the loop began."""
        return self._now

    def create_task(self, coro: Any, *, name: object = None, context: Context | None = None) -> Any:
        """A task of the life that it is made in."""
        task = super().create_task(coro, name=name, context=context)
        life = current_life(context)
        if life is not None:
            life.adopt(task)
        return task

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As ever, but a step of a life asks that life first."""
        step = self._step(callback, args, context)
        if step is None:
            return super().call_soon(callback, *args, context=context)
        step.handle = super().call_soon(step, context=step.context)
        return step.handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As ever, but a timer of a life asks that life first."""
        step = self._step(callback, args, context)
        if step is None:
            return super().call_at(when, callback, *args, context=context)
        timer = super().call_at(when, step, context=step.context)
        step.handle = timer
        return timer

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":  # type: ignore[override]
        """At once, in this thread."""
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def _step(self, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None) -> Step | None:
        life = current_life(context)
        if life is None:
            return None
        return Step(life, copy_context() if context is None else context, self._again, callback, args)

    def _again(self, step: Step) -> None:
        super().call_soon(step, context=step.context)

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
