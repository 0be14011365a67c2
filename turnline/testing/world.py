"""A world: one engine over one SQLite file, in one thread and in virtual time, that can die and be born again."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from consumers.agent import App
from consumers.bus import StoreBus
from outbox.adapter import EffectAdapter
from sessionstore.artifacts.memory import MemoryArtifacts
from sessionstore.event import Event
from sessionstore.inbox import NewRow, PutResult, SessionRef
from sessionstore.sqlite.store import SqliteStore
from sessionstore.wait import AnswerResult, NewAnswer
from turnline.testing.blobs import MortalArtifacts
from turnline.testing.inline import Fuse
from turnline.testing.life import Died
from turnline.testing.node import Node
from turnline.testing.virtualtime import VirtualClock

T = TypeVar("T")

QUIET_LOOKS_MAX = 5_000
LOOK_S = 0.5


class World:
    """What a scenario acts on. Every action is retried after a crash, as its real caller would."""

    def __init__(
        self, folder: Path, make_app: Callable[[], App], adapters: Sequence[EffectAdapter], fuse: Fuse, seed: int = 7
    ) -> None:
        self.clock = VirtualClock()
        self.fuse = fuse
        self.crashes = 0
        self.adapters = {a.name: a for a in adapters}
        self.artifacts = MemoryArtifacts(self.clock)
        self._folder = folder
        self._make_app = make_app
        self._random = Random(seed)  # noqa: S311 - a simulation, not a secret
        self._node: Node | None = None
        self._ids = 0

    @property
    def store(self) -> SqliteStore:
        """The store of the present life."""
        if self._node is None:
            raise Died
        return self._node.store

    async def start(self) -> None:
        """Be born: open the file, declare the former life dead, start the loops."""
        fuse = self.fuse  # of this life: what goes on in it after its death must not see the next one's
        self._node = Node(
            self._folder / "world.sqlite",
            self.clock,
            self._make_app(),
            list(self.adapters.values()),
            self._random,
            fuse=self.fuse,
            artifacts=MortalArtifacts(self.artifacts, lambda: fuse),
        )
        await self._node.start(adopt=True)

    async def die(self) -> None:
        """Stop as a killed process does: no loop says goodbye, no lease is given back."""
        self.fuse.blown.set()
        if self._node is not None:
            await self._node.kill()
        self._node = None

    async def survive(self) -> None:
        """After a crash: a new life without a fuse."""
        await self.die()
        self.crashes += 1
        self.fuse = Fuse()
        await self.start()

    async def say(
        self,
        text: str,
        *,
        to: str = "",
        channel: str = "fake",
        event_id: str = "",
        type_: str = "message",
        data: Mapping[str, Any] | None = None,
    ) -> PutResult:
        """An event from outside, sent again under its id until it is accepted. `to` is a session key."""
        self._ids += 1
        event_id = event_id or f"e{self._ids}"

        async def put() -> PutResult:
            key = to or f"agent:{next(iter(self._make_app().by_name()))}/fake:x/dm:1"
            agent = key.removeprefix("agent:").split("/", 1)[0]
            route = {"adapter": channel, "lane": channel}
            event = Event(
                "default", "test", event_id, type_, key, agent, {"text": text, **(data or {})}, reply_route=route
            )
            [result] = await StoreBus(self.store.inbox).publish([NewRow(event, event_id.encode())])
            return result

        return await self.persist(put)

    async def answer(self, answer: Any, *, by: str = "tester") -> AnswerResult:
        """Answer the oldest open question, again after a crash until somebody's answer counts."""
        open_ = [w for w in await self.persist(lambda: self.store.reads.waits(None)) if w["kind"] == "approval"]
        wait_id = str(open_[0]["wait_id"])

        async def give() -> AnswerResult:
            [result] = await self.store.waits.answer([NewAnswer(wait_id, answer, by)])
            return result

        return await self.persist(give)

    async def persist(self, act: Callable[[], Awaitable[T]]) -> T:
        """Do it; when the process dies under it, do it again in the next life."""
        while True:
            try:
                return await act()
            except Died:
                await self.survive()

    async def settle(self) -> None:
        """Let time pass until nothing is left to run, to send or to look at. Waiting for people does not count."""
        for _ in range(QUIET_LOOKS_MAX):
            if self.fuse.blown.is_set():
                await self.survive()
            if await self.persist(self._quiet):
                return
            await asyncio.sleep(LOOK_S)
        raise AssertionError(f"nothing came to rest within {QUIET_LOOKS_MAX * LOOK_S:.0f} virtual seconds")

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)
        if self.fuse.blown.is_set():
            await self.survive()

    async def session(self, key: str) -> dict[str, Any]:
        """A session as people see it."""
        found: dict[str, Any] | None = await self.persist(lambda: self.store.reads.session(SessionRef("default", key)))
        if found is None:
            raise AssertionError(f"there is no session {key}")
        return found

    async def _quiet(self) -> bool:
        balances = {b.name: b.rows for b in await self.store.reads.balances(None)}
        moving = ("pending", "sending", "retry")
        asked = await self.store.reads.effects(None, states=("unknown",))
        looked_at = any(effect["due"] is not None for effect in asked)
        busy = self._node is not None and self._node.running and any(self._node.engine.scheduler.load)
        sending = any(balances["intended"].get(state) for state in moving)
        rings = await self.store.waits.next_due()
        ringing = rings is not None and rings <= self.clock.now()
        return not (balances["accepted"].get("queued") or sending or looked_at or busy or ringing)
