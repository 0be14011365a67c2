"""A relay over a real store, in virtual time, before an adapter that does as it is told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from outbox.adapter import CannotTell, Delivered, Limits, LookupResult, Sending, SendResult
from outbox.relay import FactCheck, Relay, RelaySettings, no_facts
from sessionstore.event import Kind
from sessionstore.inbox import SessionRef
from sessionstore.outboxqueue import OutboxQueue
from sessionstore.sqlite.store import SqliteStore
from tests.conformance.places import assert_conserved
from turnline.testing.inline import Fuse, InlineDatabase
from turnline.testing.virtualtime import VirtualClock

Act = Callable[[Sending], Awaitable[SendResult]]


class Scripted:
    """An adapter: for each arrival the next line of its script, and Delivered when there is none left."""

    def __init__(self, *script: SendResult | Exception | Act, limits: Limits | None = None, name: str = "fake") -> None:
        self.name = name
        self.limits = limits or Limits(timeout_s=10.0)
        self.script = list(script)
        self.arrivals: list[Sending] = []
        self.found: list[LookupResult | Exception] = []
        self.looked = 0

    @property
    def keys(self) -> list[str]:
        return [sending.key for sending in self.arrivals]

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        return self.limits

    async def send(self, sending: Sending) -> SendResult:
        self.arrivals.append(sending)
        line = self.script.pop(0) if self.script else Delivered(f"receipt-{sending.key}")
        if isinstance(line, Exception):
            raise line
        return await line(sending) if callable(line) else line

    async def lookup(self, sending: Sending) -> LookupResult:
        self.looked += 1
        line = self.found.pop(0) if self.found else CannotTell()
        if isinstance(line, Exception):
            raise line
        return line

    async def close(self) -> None:
        return None


def taking(seconds: float, result: SendResult | None = None) -> Act:
    async def act(sending: Sending) -> SendResult:
        await asyncio.sleep(seconds)
        return result or Delivered(f"receipt-{sending.key}")

    return act


@dataclass
class Bench:
    """The store, its clock, and what happens there."""

    store: SqliteStore
    clock: VirtualClock

    async def states(self) -> dict[str, str]:
        return {e["effect_id"]: e["state"] for e in await self.store.reads.effects(None, limit=1_000)}

    async def effect(self, effect_id: str) -> dict[str, Any]:
        found = await self.store.reads.effect(effect_id)
        assert found is not None
        return found

    async def outcomes(self, session: SessionRef) -> list[str]:
        """What the session was told of its effects, in order."""
        rows = await self.store.inbox.queued(session, 100)
        return [row.event.data["outcome"] for row in rows if row.event.kind is Kind.OUTCOME]

    def relay(
        self,
        *adapters: Scripted,
        check: FactCheck = no_facts,
        queue: OutboxQueue | None = None,
        settings: RelaySettings | None = None,
    ) -> Relay:
        by_name = {a.name: a for a in adapters}
        relay = Relay(queue or self.store.outbox, by_name, self.clock, Random(3), check=check, settings=settings)
        self.store.listen(relay.notice)
        return relay


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Bench]:
    """A store in virtual time; the books must balance when it is left."""
    clock = VirtualClock()
    store = SqliteStore(
        folder / "store.sqlite",
        clock,
        make_database=lambda path, sql, listener: InlineDatabase(path, sql, listener, Fuse()),
    )
    yield Bench(store, clock)
    await assert_conserved(store)
    await store.close()


@asynccontextmanager
async def running(*relays: Relay) -> AsyncIterator[Sequence["asyncio.Task[None]"]]:
    """The relays' loops; stopped in order at the end."""
    tasks = [asyncio.create_task(relay.run()) for relay in relays]
    yield tasks
    for relay in relays:
        relay.stop()
    await asyncio.gather(*tasks, return_exceptions=True)
