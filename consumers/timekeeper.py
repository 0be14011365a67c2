"""The timekeeper: timers and unanswered questions become inbox rows when they are due."""

import asyncio

import structlog

from sessionstore.clock import Clock
from sessionstore.notice import Notice
from sessionstore.timer import Waits

log = structlog.get_logger(__name__)

BATCH_MAX = 256
# Never sleep longer: after a clock jump or another process's timer the due time is read anew.
SLEEP_MAX_S = 1.0


class Timekeeper:
    """One loop; any number may run, since each wait ends once by compare-and-set."""

    def __init__(self, waits: Waits, clock: Clock) -> None:
        self._waits = waits
        self._clock = clock
        self._wake = asyncio.Event()
        self._stopping = False

    def notice(self, notice: Notice) -> None:
        """Listener for the store: a new wait may be due sooner."""
        if notice.waits:
            self._wake.set()

    def stop(self) -> None:
        """Return from `run`."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Fire what is due until stopped."""
        while not self._stopping:
            self._wake.clear()
            try:
                fired = await self._waits.fire_due(BATCH_MAX)
                due = await self._waits.next_due()
            except Exception:
                log.exception("timekeeper.failed")
                fired, due = [], None
            if len(fired) == BATCH_MAX:
                continue
            sleep_s = SLEEP_MAX_S if due is None else min(max(due - self._clock.now(), 0.001), SLEEP_MAX_S)
            try:
                async with asyncio.timeout(sleep_s):
                    await self._wake.wait()
            except TimeoutError:
                continue
