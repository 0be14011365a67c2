"""Leases held by this worker: renewed in batches, kept for a moment when idle, given back in batches."""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from consumers.mailbox import Mailbox, Phase
from sessionstore.clock import Clock
from sessionstore.inbox import SessionRef
from sessionstore.leases import Lease, RowLeases

log = structlog.get_logger(__name__)

TICK_S = 0.5


class Holdings:
    """What this worker holds. A lease that cannot be renewed is lost; one that is unsure runs out by itself."""

    def __init__(self, leases: RowLeases, clock: Clock, ttl_s: float, idle_grace_s: float) -> None:
        self._leases = leases
        self._clock = clock
        self._ttl_s = ttl_s
        self._idle_grace_s = idle_grace_s
        self._held: dict[SessionRef, Mailbox] = {}
        self._idle: dict[SessionRef, Mailbox] = {}
        self._returning: list[Lease] = []
        self._renewed_at = clock.monotonic()

    def add(self, mailbox: Mailbox) -> None:
        """A lease was taken."""
        self._held[mailbox.ref] = mailbox

    def idle(self, mailbox: Mailbox) -> None:
        """Its session has nothing to run."""
        self._idle[mailbox.ref] = mailbox

    def remove(self, mailbox: Mailbox) -> None:
        """It is not ours to renew any more."""
        self._held.pop(mailbox.ref, None)
        self._idle.pop(mailbox.ref, None)

    def give_back(self, lease: Lease) -> None:
        """Release with the next batch."""
        self._returning.append(lease)

    async def keep(
        self, lost: Callable[[Iterable[SessionRef]], None], let_go: Callable[[Iterable[Mailbox]], None]
    ) -> None:
        """Renew and release until cancelled."""
        while True:
            await asyncio.sleep(TICK_S)
            try:
                let_go(self._idle_for_long())
                await self._release()
                if self._clock.monotonic() - self._renewed_at >= self._ttl_s / 3:
                    lost(await self._renew())
            except Exception:
                log.exception("leases.keep_failed")

    async def release_all(self) -> None:
        """Give everything back: for an orderly stop."""
        self._returning += [m.loaded.lease for m in self._held.values() if m.loaded is not None and not m.lost]
        self._held.clear()
        self._idle.clear()
        await self._release()

    def _idle_for_long(self) -> list[Mailbox]:
        limit = self._clock.monotonic() - self._idle_grace_s
        busy = [ref for ref, m in self._idle.items() if m.phase is not Phase.HOLDING]
        for ref in busy:
            del self._idle[ref]
        return [m for m in self._idle.values() if m.idle_since <= limit]

    async def _release(self) -> None:
        returning, self._returning = self._returning, []
        if not returning:
            return
        try:
            await self._leases.release(returning)
        except Exception:
            self._returning += returning
            raise

    async def _renew(self) -> list[SessionRef]:
        mailboxes = [m for m in self._held.values() if m.loaded is not None]
        started = self._clock.monotonic()
        leases = [m.loaded.lease for m in mailboxes if m.loaded is not None]
        kept = await self._leases.renew(leases, self._ttl_s)
        self._renewed_at = started
        return [m.ref for m, held in zip(mailboxes, kept, strict=True) if not held]
