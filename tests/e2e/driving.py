"""Drives an app as its users meet it: a real store and engine, a chat that remembers what was said, and crashes.

A crash here is what is left of one: from that moment on nothing reaches the file, and every task of the engine ends.
What the outside world had begun goes on or not, as the test's own double says.
"""

import asyncio
import importlib.util
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from consumers.agent import App
from consumers.bus import StoreBus
from consumers.reconciler import ReconcilerSettings
from consumers.scheduler import SchedulerSettings
from outbox.adapter import CannotTell, Delivered, EffectAdapter, Idempotency, Limits, LookupResult, Sending, SendResult
from outbox.relay import RelaySettings
from sessionstore.artifacts.folder import FolderArtifacts
from sessionstore.audit import audit
from sessionstore.event import Event
from sessionstore.inbox import NewRow, PutResult, SessionRef
from sessionstore.sqlite.store import SqliteStore
from sessionstore.verify import verify_all
from sessionstore.wait import AnswerResult, NewAnswer
from turnline.engine import Engine, EngineSettings

EXAMPLES = Path(__file__).parents[2] / "examples"
CHAT = {"adapter": "chat", "lane": "chat"}
WAIT_S = 20.0


class ShiftedClock:
    """The machine's clock, and later: `later` moves it on."""

    def __init__(self) -> None:
        self.offset_s = 0.0

    def now(self) -> float:
        return time.time() + self.offset_s

    def monotonic(self) -> float:
        return time.monotonic()

    def later(self, seconds: float) -> None:
        """Let so much time pass."""
        self.offset_s += seconds

    def until(self, moment: float) -> None:
        """Let time pass until a moment, in unix seconds."""
        self.offset_s = moment - time.time()


class Chat:
    """A channel that shows each message once, whatever is sent again under its key."""

    name = "chat"

    def __init__(self) -> None:
        self.said: dict[str, str] = {}

    @property
    def texts(self) -> list[str]:
        """What a reader sees."""
        return list(self.said.values())

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        return Limits(idempotency=Idempotency.NATIVE)

    async def send(self, sending: Sending) -> SendResult:
        self.said.setdefault(sending.key, str(sending.body["text"]))
        return Delivered(sending.key)

    async def lookup(self, sending: Sending) -> LookupResult:
        return CannotTell()

    async def close(self) -> None:
        return None


class Drive:
    """One installation over its lifetime: `start`, `crash`, `start` again."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "turnline.sqlite"
        self.clock = ShiftedClock()
        self.chat = Chat()
        self.store: SqliteStore
        self.engine: Engine
        self.bus: StoreBus
        self._events = 0

    async def start(self, app: App, adapters: Sequence[EffectAdapter] = ()) -> None:
        """Open the store and run the app; whoever ran before is dead."""
        self.store = SqliteStore(self.path, self.clock)
        await self.store.adopt()
        self.bus = StoreBus(self.store.inbox)
        everything = [self.chat, *adapters]
        artifacts = FolderArtifacts(self.path.parent / "artifacts")
        self.engine = Engine(
            self.store, app, everything, self.clock, Random(7), settings=_impatient(), artifacts=artifacts
        )
        await self.engine.start()

    async def stop(self) -> None:
        """An orderly stop."""
        await self.engine.stop()
        await self.store.close()

    async def crash(self) -> None:
        """Nothing is written any more, then everything ends."""
        await self.store.close()
        await self.engine.stop()

    async def put(self, event: Event) -> PutResult:
        """What a door does."""
        [result] = await self.bus.publish([NewRow(event)])
        return result

    async def say(self, key: str, text: str) -> None:
        """A message of Ann's, to be answered in the chat."""
        self._events += 1
        agent = key.partition("/")[0].removeprefix("agent:")
        name = f"m{self._events}"
        event = Event("default", "chat", name, "message", key, agent, {"text": text}, sender="ann", reply_route=CHAT)
        await self.put(event)

    async def heard(self, text: str) -> None:
        """Wait until somebody said this, wholly or in part."""
        await self.until(lambda: _soon(any(text in one for one in self.chat.texts)))

    async def question(self) -> dict[str, Any]:
        """Wait for the one open question."""
        await self.until(self._asked)
        [wait] = await self._open()
        return wait

    async def answer(self, wait_id: str, answer: str) -> AnswerResult:
        """Bob's answer."""
        [result] = await self.store.waits.answer([NewAnswer(wait_id, answer, "bob")])
        return result

    async def effect(self, adapter: str, state: str) -> dict[str, Any]:
        """Wait for an effect of this adapter in this state."""
        found: list[dict[str, Any]] = []

        async def there() -> bool:
            found[:] = [x for x in await self.store.reads.effects(None) if _is(x, adapter, state)]
            return bool(found)

        await self.until(there)
        return found[0]

    async def session(self, key: str) -> dict[str, Any]:
        """A session as it is stored."""
        row = await self.store.reads.session(SessionRef("default", key))
        assert row is not None, key
        return row

    async def at_rest(self) -> None:
        """Wait until nothing is queued and nothing is on its way."""
        await self.until(self._nothing_to_do)

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Wait for a condition, asked again whenever a transaction of this process changed something."""
        changed = asyncio.Event()
        unlisten = self.store.listen(lambda notice: changed.set())
        try:
            async with asyncio.timeout(WAIT_S):
                while not await holds():
                    await changed.wait()
                    changed.clear()
        finally:
            unlisten()

    async def proved(self) -> None:
        """Nothing is lost or doubled, and each record is what its transcript says."""
        report = await audit(self.store.reads, None, None, None)
        assert report.balanced, list(report.findings())
        assert not [verdict async for verdict in verify_all(self.store.reads, None) if verdict.differences]

    async def _open(self) -> list[dict[str, Any]]:
        return await self.store.reads.waits(None, kind="approval")

    async def _asked(self) -> bool:
        return bool(await self._open())

    async def _nothing_to_do(self) -> bool:
        accepted, intended = await self.store.reads.balances(None)
        under_way = sum(intended.rows.get(state, 0) for state in ("pending", "sending", "retry", "unknown"))
        return not accepted.rows.get("queued") and not under_way


@asynccontextmanager
async def driving(folder: Path, app: App, *adapters: EffectAdapter) -> AsyncIterator[Drive]:
    """The app, running; at the end its books are checked."""
    drive = Drive(folder)
    await drive.start(app, adapters)
    try:
        yield drive
        await drive.proved()
    finally:
        await drive.stop()


def example(name: str) -> ModuleType:
    """A fresh copy of an example's module, as a new process would load it."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _impatient() -> EngineSettings:
    """Nothing waits for long, and an engine whose store is closed ends at once."""
    return EngineSettings(
        scheduler=SchedulerSettings(drain_s=0.0),
        relay=RelaySettings(drain_s=0.0, poll_s=0.02),
        reconciler=ReconcilerSettings(settle_s=0.0, poll_s=0.02, look_again_s=0.05, look_again_max_s=0.1),
    )


def _is(effect: Mapping[str, Any], adapter: str, state: str) -> bool:
    return bool(effect["adapter"] == adapter and effect["state"] == state)


async def _soon(holds: bool) -> bool:
    return holds
