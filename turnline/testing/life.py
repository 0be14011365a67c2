"""A life: everything that one simulated process runs. It can be frozen, thawed and ended, between any two of its steps.

A virtual loop knows which life each step belongs to (the step's context says so), and asks it before the step runs.
Frozen is what SIGSTOP does: no step runs, timers of that process ring when it is thawed, and the world goes on
meanwhile. Ended is what SIGKILL does: its tasks are cleared away in no time, and find store and channels closed.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

CLEARING_ROUNDS_MAX = 1_000


class Died(Exception):
    """The process is dead: nothing more is read, written or sent."""


class Life:
    """One simulated process, from its start to its end."""

    def __init__(self, name: str = "life") -> None:
        self.name = name
        self.frozen = False
        self.ended = False
        self.thawed_at = 0.0
        self._gone = False
        self._held: list[Step] = []
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def spawn(self, coroutine: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Run it as part of this life; all that it starts belongs to this life too."""
        context = copy_context()
        context.run(_LIFE.set, self)
        return asyncio.get_running_loop().create_task(coroutine, context=context)

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it as part of this life and wait for it. Raises Died when the life ends first."""
        task = self.spawn(coroutine)
        await asyncio.wait([task])
        if task.cancelled():
            raise Died
        return task.result()

    def freeze(self) -> None:
        """No step of it runs until `thaw`."""
        self.frozen = True

    def thaw(self) -> None:
        """Go on with all that has become due meanwhile, in that order."""
        self.frozen = False
        self.thawed_at = asyncio.get_running_loop().time()
        held, self._held = self._held, []
        for step in held:
            step.schedule()

    async def end(self) -> None:
        """Dead at once. On return none of its tasks is left; what they did meanwhile reached nobody."""
        self.ended = True
        self.thaw()
        for _ in range(CLEARING_ROUNDS_MAX):
            left = [task for task in self._tasks if not task.done()]
            if not left:
                self._gone = True
                return
            for task in left:
                task.cancel()
            await asyncio.sleep(0)
        raise AssertionError(f"{self.name} has tasks that cannot be cancelled: {left}")

    def adopt(self, task: "asyncio.Task[Any]") -> None:
        """Remember a task of this life; only for loops."""
        self._tasks[task] = None
        task.add_done_callback(self._forget)

    def takes(self, step: "Step") -> bool:
        """Whether the step may run now; a frozen life keeps it for later. Only for loops."""
        if self.frozen:
            self._held.append(step)
        return not (self.frozen or self._gone)

    def _forget(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.pop(task, None)
        if self.ended and not task.cancelled():
            task.exception()  # of a dead process nobody else will ask


_LIFE: ContextVar[Life | None] = ContextVar("turnline_life", default=None)


def current_life(context: Context | None = None) -> Life | None:
    """The life that this code, or what runs in `context`, belongs to; None outside of all."""
    return _LIFE.get() if context is None else context.get(_LIFE)


class Step:
    """One step of a life, as a loop runs it."""

    __slots__ = ("_args", "_callback", "_life", "_schedule", "context", "handle")

    def __init__(
        self,
        life: Life,
        context: Context,
        schedule: Callable[["Step"], None],
        callback: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:
        self.context = context
        self.handle: asyncio.Handle | None = None
        self._life = life
        self._schedule = schedule
        self._callback = callback
        self._args = args

    def __call__(self) -> None:
        if self._life.takes(self) and not (self.handle is not None and self.handle.cancelled()):
            self._callback(*self._args)

    def schedule(self) -> None:
        """Run it at the next turn of the loop, unless its handle was cancelled."""
        self._schedule(self)
