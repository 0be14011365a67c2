"""The engine in real time and with real threads: what blocks in one session holds up no other."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from consumers.agent import Agent, App
from consumers.scheduler import SchedulerSettings
from sessionstore.clock import SystemClock
from sessionstore.event import Event
from sessionstore.inbox import NewRow
from sessionstore.sqlite.store import SqliteStore
from tests.conformance.places import assert_conserved
from tests.integration.spine.living import key
from turnline import Turn
from turnline.engine import Engine, EngineSettings
from turnline.testing import FakeChannel

BOUND_S = 20.0


class Post(FakeChannel):
    """A channel whose arrivals can be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.came = asyncio.Event()

    async def send(self, sending: Any) -> Any:
        result = await super().send(sending)
        self.came.set()
        return result

    async def until(self, condition: Callable[[list[str]], bool]) -> None:
        async with asyncio.timeout(BOUND_S):
            while not condition(self.texts):
                self.came.clear()
                await self.came.wait()


@asynccontextmanager
async def engine(folder: Path, agent: Agent[Any], post: Post) -> AsyncIterator[Callable[[str, int], Awaitable[None]]]:
    store = SqliteStore(folder / "store.sqlite", SystemClock())
    await store.adopt()
    settings = EngineSettings(scheduler=SchedulerSettings(poll_s=0.02, drain_s=0.05))
    running = Engine(store, App(agents=[agent]), [post], SystemClock(), Random(1), settings=settings)
    await running.start()

    async def say(text: str, session: int) -> None:
        route = {"adapter": "fake", "lane": "fake"}
        event = Event("default", "test", text, "message", key(session), "a", {"text": text}, reply_route=route)
        await store.inbox.put([NewRow(event)])

    yield say
    await running.stop()
    await assert_conserved(store)
    await store.close()


async def test_a_synchronous_handler_that_blocks_its_thread_holds_up_no_other_session(tmp_path: Path) -> None:
    agent: Agent[Any] = Agent("a")
    post, blocked, release = Post(), threading.Event(), threading.Event()

    @agent.on("message")
    def chat(turn: Turn[Any]) -> None:
        if turn.message.text == "block":
            blocked.set()
            release.wait(BOUND_S)
        turn.reply(turn.message.text)

    async with engine(tmp_path, agent, post) as say:
        await say("block", 0)
        await say("behind", 0)
        await asyncio.to_thread(blocked.wait, BOUND_S)
        for n in range(1, 30):
            await say(f"s{n}", n)
        await post.until(lambda texts: len(texts) == 29)
        assert sorted(post.texts) == sorted(f"s{n}" for n in range(1, 30))
        release.set()
        await post.until(lambda texts: len(texts) == 31)
        assert post.texts[-2:] == ["block", "behind"]


async def test_a_handler_that_awaits_for_ever_holds_up_no_other_session_and_ends_with_its_engine(
    tmp_path: Path,
) -> None:
    agent: Agent[Any] = Agent("a")
    post, entered = Post(), asyncio.Event()

    @agent.on("message")
    async def chat(turn: Turn[Any]) -> None:
        if turn.message.text == "hang":
            entered.set()
            await asyncio.Event().wait()
        turn.reply(turn.message.text)

    async with engine(tmp_path, agent, post) as say:
        await say("hang", 0)
        await entered.wait()
        for n in range(1, 30):
            await say(f"s{n}", n)
        await post.until(lambda texts: len(texts) == 29)
    assert "hang" not in post.texts


async def test_a_step_in_a_thread_holds_up_no_other_session(tmp_path: Path) -> None:
    agent: Agent[Any] = Agent("a")
    post, blocked, release = Post(), threading.Event(), threading.Event()

    def slow(text: str) -> str:
        if text == "block":
            blocked.set()
            release.wait(BOUND_S)
        return text

    @agent.on("message")
    async def chat(turn: Turn[Any]) -> None:
        turn.reply(await turn.step(slow, turn.message.text))

    async with engine(tmp_path, agent, post) as say:
        await say("block", 0)
        await asyncio.to_thread(blocked.wait, BOUND_S)
        await say("free", 1)
        await post.until(lambda texts: texts == ["free"])
        release.set()
        await post.until(lambda texts: texts == ["free", "block"])


async def test_a_stopped_engines_unfinished_turn_is_run_by_the_next_one_and_not_counted_against_it(
    tmp_path: Path,
) -> None:
    agent: Agent[Any] = Agent("a")
    entered, attempts = asyncio.Event(), list[int]()

    @agent.on("message")
    async def chat(turn: Turn[Any]) -> None:
        attempts.append(turn.attempt)
        if len(attempts) == 1:
            entered.set()
            await asyncio.Event().wait()
        turn.reply("done")

    async with engine(tmp_path, agent, Post()) as say:
        await say("go", 0)
        await entered.wait()
    post = Post()
    async with engine(tmp_path, agent, post):
        await post.until(lambda texts: texts == ["done"])
    assert attempts == [1, 1]


async def test_messages_put_while_the_session_is_busy_are_taken_in_order_without_being_polled_for(
    tmp_path: Path,
) -> None:
    agent: Agent[Any] = Agent("a")
    post, gate, entered = Post(), asyncio.Event(), asyncio.Event()

    @agent.on("message")
    async def chat(turn: Turn[Any]) -> None:
        entered.set()
        await gate.wait()
        turn.reply(turn.message.text)

    async with engine(tmp_path, agent, post) as say:
        await say("m00", 0)
        await entered.wait()
        for n in range(1, 100):
            await say(f"m{n:02}", 0)
        gate.set()
        await post.until(lambda texts: len(texts) == 100)
        assert post.texts == [f"m{n:02}" for n in range(100)]
