"""The audit trail as doors write it: it holds no answer up, and no flood of refused requests fills the table.

A refusal costs its sender nothing, so its line may cost us little: `note` only queues it, one task writes what has
gathered as one transaction, and one source gets a number of lines a minute, then a single one that says how many more
there were. What must be on record before an answer leaves goes through `write`.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from itertools import islice

import structlog

from router.trailquota import QuotaLimits, TrailQuota
from sessionstore.clock import Clock
from sessionstore.errors import TurnlineError
from sessionstore.operations import Operations, TrailLine

log = structlog.get_logger(__name__)

PENDING_LINES_MAX = 10_000
BATCH_LINES_MAX = 500
RETRY_S = 1.0
NAME_CHARS_MAX = 200
DETAIL_CHARS_MAX = 500
ACTOR = "turnline"


class Trail:
    """Lines on their way to the store. `run` has to run for what `note` takes; `close` writes the rest."""

    def __init__(
        self,
        operations: Operations,
        clock: Clock,
        *,
        limits: QuotaLimits | None = None,
        pending_lines_max: int = PENDING_LINES_MAX,
        retry_s: float = RETRY_S,
    ) -> None:
        self._operations = operations
        self._clock = clock
        self._quota = TrailQuota(limits or QuotaLimits())
        self._pending_lines_max = pending_lines_max
        self._retry_s = retry_s
        self._pending: deque[TrailLine] = deque()
        self._lost = 0
        self._wake = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None

    def note(self, tenant: str, actor: str, action: str, target: str, detail: str = "") -> None:
        """Queue a line; not durable on return. Never raises or waits.

        `action` is one of a few fixed words; the others may hold what a stranger sent: they are cut, and characters
        that cannot be shown are replaced.
        """
        line = _clean(tenant, actor, action, target, detail)
        if self._quota.admit(line, self._clock.monotonic()):
            self._queue([line])
        self._wake.set()

    async def write(self, tenant: str, actor: str, action: str, target: str, detail: str = "") -> None:
        """Write a line, outside every quota; durable on return. Raises StoreError."""
        await self._operations.trail([_clean(tenant, actor, action, target, detail)])

    async def run(self) -> None:
        """Write what gathers, until cancelled. A line that cannot be written now is tried again."""
        while True:
            await self._gathered()
            self._end_window(over=False)
            if not self._pending:
                continue
            try:
                await self._write_batch()
            except TurnlineError as error:
                log.warning("trail.write_failed", lines=len(self._pending), code=error.code, error=str(error))
                await asyncio.sleep(self._retry_s)

    async def close(self) -> None:
        """Write everything that is left, held-back counts included; what the store does not take is logged."""
        self._end_window(over=True)
        try:
            while self._pending or self._writing is not None:
                await self._write_batch()
        except TurnlineError as error:
            log.error("trail.lines_lost", lines=len(self._pending) + self._lost, code=error.code, error=str(error))
            self._pending.clear()

    async def _gathered(self) -> None:
        """Wait for a line, at most until the window ends."""
        if self._pending:
            return
        self._wake.clear()
        try:
            async with asyncio.timeout(self._quota.ends_in(self._clock.monotonic())):
                await self._wake.wait()
        except TimeoutError:
            return

    def _end_window(self, *, over: bool) -> None:
        remaining = self._quota.ends_in(self._clock.monotonic())
        if remaining is not None and (over or remaining == 0):
            self._queue(self._quota.end())
        if self._lost and len(self._pending) < self._pending_lines_max:
            log.error("trail.lines_lost", lines=self._lost)
            self._pending.append(TrailLine("", ACTOR, "trail.lines_lost", "", f"{self._lost:,} lines were not kept"))
            self._lost = 0

    def _queue(self, lines: Sequence[TrailLine]) -> None:
        room = self._pending_lines_max - len(self._pending)
        self._pending.extend(lines[:room])
        self._lost += max(0, len(lines) - room)

    async def _write_batch(self) -> None:
        # Cancelling the caller does not cancel the write: the store may have taken it, and then a second one would
        # double its lines. Whoever comes next waits for its end first.
        if self._writing is None:
            self._writing = asyncio.ensure_future(self._write())
        try:
            await asyncio.shield(self._writing)
        finally:
            if self._writing.done():
                self._writing = None

    async def _write(self) -> None:
        batch = list(islice(self._pending, BATCH_LINES_MAX))
        await self._operations.trail(batch)
        for _ in batch:
            self._pending.popleft()


def _clean(tenant: str, actor: str, action: str, target: str, detail: str) -> TrailLine:
    return TrailLine(
        tenant,
        _shown(actor, NAME_CHARS_MAX),
        action,
        _shown(target, NAME_CHARS_MAX),
        _shown(detail, DETAIL_CHARS_MAX),
    )


def _shown(text: str, chars_max: int) -> str:
    cut = text[:chars_max]
    return cut if cut.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in cut)
