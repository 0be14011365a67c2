"""A world for one test: made, lived in, checked against every invariant, and ended."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from consumers.agent import Agent, App
from outbox.adapter import EffectAdapter, Idempotency, Sending, SendResult
from sessionstore.inbox import SessionRef
from turnline.testing import FakeChannel, World, run_virtually
from turnline.testing.crash import check_invariants
from turnline.testing.inline import Fuse

KEY = "agent:a/fake:x/dm:1"

Life = Callable[[World], Awaitable[None]]


def key(n: int) -> str:
    return f"agent:a/fake:x/dm:{n}"


def live(folder: Path, agent: Agent[Any], life: Life, *, adapters: Sequence[EffectAdapter] = ()) -> None:
    """Run a scenario in virtual time; at its end everything must have come to rest and add up."""

    async def whole() -> None:
        world = World(folder, lambda: App(agents=[agent]), list(adapters) or [FakeChannel()], Fuse())
        for adapter in adapters:
            if isinstance(adapter, Mortal):
                adapter.world = world
        await world.start()
        await life(world)
        await world.settle()
        await check_invariants(world)
        await world.die()

    with capture_logs():
        run_virtually(whole())


class Mortal(FakeChannel):
    """A channel whose first arrival ends the process: before it was done there, or after."""

    def __init__(self, *, done: bool, idempotency: Idempotency, external_id: str = "") -> None:
        super().__init__(idempotency=idempotency)
        self.world: World | None = None
        self._done = done
        self._external_id = external_id

    async def send(self, sending: Sending) -> SendResult:
        if self.world is not None and not self.arrivals:
            if self._external_id:
                await sending.started(self._external_id)
            self.arrivals.append(sending)
            if self._done:
                self.done[sending.key] = dict(sending.body)
            self.world.fuse.blown.set()
            await asyncio.sleep(1e9)
        return await super().send(sending)


def channel(world: World) -> FakeChannel:
    """The channel of the world."""
    found = world.adapters["fake"]
    assert isinstance(found, FakeChannel)
    return found


def texts(world: World) -> list[str]:
    """What was said, in order, each once."""
    return channel(world).texts


async def state(world: World, session: str = KEY) -> Mapping[str, Any]:
    """The agent's state as committed."""
    found = await world.session(session)
    return dict(found["record"]["state"]) if found["record"] else {}


async def story(world: World, session: str = KEY) -> list[str]:
    """The types of the session's transcript events."""
    rows = await world.store.reads.transcript(SessionRef("default", session), limit=10_000)
    return [row["type"] for row in rows]


async def dead(world: World) -> list[dict[str, Any]]:
    """Dead letters, oldest first."""
    return (await world.store.reads.dead(None))[::-1]
