"""Deadlines for many tasks at once: one timer for all, where a timer for each would cost more than what it bounds.

Like `asyncio.timeout`, but an overdue task is cancelled at the next tick, up to `TICK_S` late: for bounds of seconds,
not of milliseconds. Speed: `turnline bench`; timers of their own were an eighth of a turn's CPU.
"""

import asyncio
from types import TracebackType

TICK_S = 0.05


class Deadlines:
    """Use as `async with deadlines.within(seconds): ...`; raises TimeoutError like `asyncio.timeout`."""

    def __init__(self) -> None:
        self._open: dict[Deadline, None] = {}  # in order: who is interrupted first must not depend on addresses
        self._timer: asyncio.TimerHandle | None = None

    def within(self, timeout_s: float) -> "Deadline":
        """A context that its task may spend at most `timeout_s` in."""
        return Deadline(self, timeout_s)

    def add(self, deadline: "Deadline") -> None:
        """Watch it; only for `Deadline`."""
        self._open[deadline] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def remove(self, deadline: "Deadline") -> None:
        """Watch it no longer; only for `Deadline`."""
        self._open.pop(deadline, None)

    def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for deadline in [d for d in self._open if d.at <= now]:
            deadline.expire()
        self._timer = loop.call_later(TICK_S, self._tick) if self._open else None


class Deadline:
    """One bounded stretch of one task."""

    __slots__ = ("_all", "_expired", "_task", "_timeout_s", "at")

    def __init__(self, all_: Deadlines, timeout_s: float) -> None:
        self._all = all_
        self._timeout_s = timeout_s
        self._task: asyncio.Task[object] | None = None
        self._expired = False
        self.at = 0.0

    @property
    def expired(self) -> bool:
        """Whether its time ran out: also true where the interruption was swallowed."""
        return self._expired

    async def __aenter__(self) -> "Deadline":
        self._task = asyncio.current_task()
        self.at = asyncio.get_running_loop().time() + self._timeout_s
        self._all.add(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._all.remove(self)
        if not self._expired or self._task is None:
            return
        # Only our own cancellation becomes a timeout; one from outside goes on as what it is.
        if self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """Its time is over: interrupt the task; only for `Deadlines`."""
        self._all.remove(self)
        self._expired = True
        if self._task is not None:
            self._task.cancel()
