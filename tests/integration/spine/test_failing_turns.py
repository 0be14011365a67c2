"""Turns that fail: tried again in their place, given up with a notice, and never half done."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.integration.spine.living import dead, live, state, story, texts
from turnline import Agent, Failure, Turn
from turnline.testing import World


class Log(BaseModel):
    seen: list[str] = []


def agent_of(**options: Any) -> Agent[Log]:
    return Agent("a", state=Log, **options)


def test_a_turn_that_fails_is_tried_again_and_what_came_after_waits_behind_it(tmp_path: Path) -> None:
    agent = agent_of(failure=Failure(attempts_max=5, backoff_s=10.0))
    tried: list[str] = []

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        tried.append(turn.message.text)
        if turn.message.text == "bad" and tried.count("bad") < 3:
            raise ConnectionError("down")
        turn.state.seen.append(turn.message.text)

    async def life(world: World) -> None:
        for text in ("one", "bad", "two"):
            await world.say(text)
        await world.settle()
        assert tried == ["one", "bad", "bad", "bad", "two"]
        assert (await state(world))["seen"] == ["one", "bad", "two"]
        assert await dead(world) == []

    live(tmp_path, agent, life)


def test_a_turn_that_keeps_failing_is_given_up_with_a_notice_and_the_session_goes_on(tmp_path: Path) -> None:
    agent = agent_of(failure=Failure(attempts_max=3, backoff_s=1.0, notice="Sorry"))
    tried: list[str] = []

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        tried.append(turn.message.text)
        turn.state.seen.append(turn.message.text)
        turn.reply(turn.message.text)
        if turn.message.text == "bad":
            raise ConnectionError("down")

    async def life(world: World) -> None:
        for text in ("one", "bad", "two"):
            await world.say(text)
        await world.settle()
        assert tried == ["one", "bad", "bad", "bad", "two"]
        assert texts(world) == ["one", "Sorry", "two"]
        assert (await state(world))["seen"] == ["one", "two"]
        [letter] = await dead(world)
        assert "ConnectionError: down" in letter["reason"]
        assert (await story(world)).count("turn.failed") == 1

    live(tmp_path, agent, life)


def test_a_redriven_event_runs_again_after_the_fix_and_nothing_else_does(tmp_path: Path) -> None:
    agent = agent_of(failure=Failure(attempts_max=2, backoff_s=1.0, notice="Sorry"))
    broken = [True]

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        if turn.message.text == "bad" and broken[0]:
            raise ConnectionError("down")
        turn.reply(turn.message.text)

    async def life(world: World) -> None:
        await world.say("bad")
        await world.settle()
        for again in (True, False):
            broken[0] = again
            letter = next(d for d in await dead(world) if d["state"] == "dead")
            await world.store.operations.redrive(letter["dead_id"], "op")
            await world.settle()
        assert texts(world) == ["Sorry", "Sorry", "bad"]
        assert [d["state"] for d in await dead(world)] == ["redriven", "redriven"]

    live(tmp_path, agent, life)


ODD = {
    "a set": lambda t: t.call("act", what={1, 2}),
    "an object": lambda t: t.ask("Go?", then="go", data=object()),
    "half a character": lambda t: t.call("act", what="\ud83d"),
    "too large a number": lambda t: t.schedule("1h", then="go", data=2**70),
}


@pytest.mark.parametrize("decide", ODD.values(), ids=ODD.keys())
def test_a_decision_that_cannot_be_stored_is_given_up_at_once_and_the_session_goes_on(
    tmp_path: Path, decide: Any
) -> None:
    agent = agent_of()
    tried: list[str] = []

    @agent.tool
    async def act(call: Any, what: Any) -> None: ...

    @agent.continuation
    async def go(turn: Turn[Log], decision: Any) -> None: ...

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        tried.append(turn.message.text)
        turn.reply(turn.message.text)
        if turn.message.text == "odd":
            decide(turn)

    async def life(world: World) -> None:
        await world.say("odd")
        await world.say("fine")
        await world.settle()
        assert tried == ["odd", "fine"]
        assert texts(world)[-1] == "fine"
        assert "odd" not in texts(world)
        assert len(await dead(world)) == 1

    live(tmp_path, agent, life)


def test_a_state_that_its_model_would_not_read_back_is_not_kept(tmp_path: Path) -> None:
    agent = agent_of(failure=Failure(notice=""))

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        turn.state.seen.append(turn.message.text)
        if turn.message.text == "odd":
            turn.state.seen = "not a list"  # type: ignore[assignment]

    async def life(world: World) -> None:
        for text in ("one", "odd", "two"):
            await world.say(text)
        await world.settle()
        assert (await state(world))["seen"] == ["one", "two"]
        assert len(await dead(world)) == 1

    live(tmp_path, agent, life)


@pytest.mark.parametrize("returns", [True, False])
def test_a_handler_past_its_deadline_cannot_commit_even_if_it_ignores_the_interruption(
    tmp_path: Path, returns: bool
) -> None:
    agent = agent_of(timeout_s=5.0, failure=Failure(attempts_max=1, notice="Sorry"))

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            if not returns:
                raise
        turn.reply("too late")
        turn.state.seen.append("too late")

    async def life(world: World) -> None:
        await world.say("go")
        await world.settle()
        assert texts(world) == ["Sorry"]
        assert (await state(world)).get("seen", []) == []

    live(tmp_path, agent, life)


def test_an_event_that_kills_its_worker_each_time_is_given_up(tmp_path: Path) -> None:
    agent = agent_of(failure=Failure(attempts_max=3, notice="Sorry"))
    started: list[str] = []
    worlds: list[World] = []

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        started.append(turn.message.text)
        if turn.message.text == "deadly":
            worlds[0].fuse.blown.set()
            await asyncio.sleep(1e9)
        turn.reply(turn.message.text)

    async def life(world: World) -> None:
        worlds.append(world)
        await world.say("deadly")
        await world.say("after")
        await world.settle()
        assert started.count("deadly") <= 4
        assert texts(world) == ["Sorry", "after"]
        [letter] = await dead(world)
        assert "died" in letter["reason"]
        assert world.crashes == started.count("deadly")

    live(tmp_path, agent, life)
