"""A store with a past: real turns of a small agent, run by the real engine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from pydantic import BaseModel

from consumers.agent import Agent, App, Failure
from consumers.outcome import Decision
from consumers.session import Session
from consumers.turn import Turn
from sessionstore.clock import SystemClock
from sessionstore.effect import EffectState, Settlement
from sessionstore.event import Event
from sessionstore.inbox import NewRow, SessionRef
from sessionstore.sqlite.store import SqliteStore
from turnline.engine import Engine

KEY = "agent:clerk/desk:1"
REF = SessionRef("default", KEY)
PAPER = {"adapter": "paper", "lane": "desk"}  # nothing carries it out: its effects stay until a test does


class Notes(BaseModel):
    """What the clerk remembers."""

    count: int = 0
    words: list[str] = []


def clerk() -> Agent[Notes]:
    """Counts messages; asks before it deploys; cannot bear the word "boom"."""
    agent = Agent("clerk", state=Notes, failure=Failure(attempts_max=1, notice=""))

    @agent.observer("commit")
    async def commit(session: Session[Notes]) -> str:
        return "abc123"

    @agent.on("message")
    async def heard(turn: Turn[Notes]) -> None:
        text = turn.message.text
        if text == "boom":
            raise RuntimeError("the clerk cannot bear it")
        if text == "deploy":
            await turn.observe("commit")
            turn.goal("Ship 2.1", acceptance=["the tests are green"])
            turn.phase("review")
            turn.plan_next("deploy once somebody has said yes")
            turn.ask("Deploy 2.1?", then=decided, binds=["commit"], expires="2h")
            return
        turn.state.count += 1
        turn.state.words.append(text)
        turn.usage(tokens=10, cost=0.5)
        turn.reply(f"{turn.state.count}: {text}")

    @agent.continuation
    async def decided(turn: Turn[Notes], decision: Decision) -> None:
        turn.phase("deployed" if decision.approved else "refused")

    return agent


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteStore]:
    """A store in `path`, closed at the end."""
    store = SqliteStore(path, SystemClock())
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def running(store: SqliteStore, agent: Agent[Any] | None = None) -> AsyncIterator[Engine]:
    """The engine over a store."""
    engine = Engine(store, App(agents=[agent or clerk()]), [], SystemClock(), Random(7))
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()


async def until(store: SqliteStore, holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition, asked again whenever a transaction of this process changed something."""
    changed = asyncio.Event()
    unlisten = store.listen(lambda notice: changed.set())
    try:
        while not await holds():
            await changed.wait()
            changed.clear()
    finally:
        unlisten()


def message(text: str, id_: str, *, key: str = KEY, route: Any = None, tenant: str = "default") -> NewRow:
    """A message of Ann's."""
    event = Event(tenant, "test", id_, "message", key, "clerk", data={"text": text}, sender="ann", reply_route=route)
    return NewRow(event)


async def settled(store: SqliteStore, tenant: str | None = None) -> bool:
    """Nothing is queued any more."""
    accepted, _ = await store.reads.balances(tenant)
    return not accepted.rows.get("queued")


async def told(store: SqliteStore, *rows: NewRow) -> None:
    """Put the rows one by one and let the engine handle each, then stop."""
    async with running(store):
        for row in rows:
            await store.inbox.put([row])
            await until(store, lambda: settled(store))


async def end_effect(store: SqliteStore, state: EffectState, error: str = "") -> str:
    """Claim the next effect for `paper` and end it so; returns its id."""
    (claim,) = await store.outbox.claim(["paper"], 1, 30.0)
    assert await store.outbox.settle([Settlement(claim, state, error=error)]) == [True]
    return claim.effect.effect_id


def fill(path: Path, *rows: NewRow) -> None:
    """The same from a test without a loop."""

    async def filled() -> None:
        async with opened(path) as store:
            await told(store, *rows)

    asyncio.run(filled())
