"""Turns: in order, one at a time, tried again, given up, and no session holds up another."""

import asyncio
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from sessionstore.errors import FenceLost
from sessionstore.event import Event, Kind, Rank
from sessionstore.inbox import NewRow, SessionRef
from sessionstore.leases import Held
from tests.integration.spine.living import KEY, key, live, state, story, texts
from turnline import Agent, Failure, QueuePolicy, Turn
from turnline.testing import World


class Log(BaseModel):
    seen: list[str] = []


def agent_of(**options: Any) -> Agent[Log]:
    return Agent("a", state=Log, **options)


def test_each_session_answers_in_the_order_of_its_messages(tmp_path: Path) -> None:
    agent = agent_of()

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        await asyncio.sleep(0.01 * (len(turn.message.text) % 3))
        turn.state.seen.append(turn.message.text)
        turn.reply(turn.message.text)

    async def life(world: World) -> None:
        for n in range(10):
            for session in range(5):
                await world.say(f"{session}-{'x' * n}", to=key(session))
        await world.settle()
        for session in range(5):
            assert (await state(world, key(session)))["seen"] == [f"{session}-{'x' * n}" for n in range(10)]
            assert [t for t in texts(world) if t.startswith(f"{session}-")] == [
                f"{session}-{'x' * n}" for n in range(10)
            ]

    live(tmp_path, agent, life)


def test_a_handler_that_waits_for_ever_holds_up_no_other_session(tmp_path: Path) -> None:
    agent = agent_of(timeout_s=1_000.0, failure=Failure(attempts_max=1))

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        if turn.message.text == "hang":
            await asyncio.sleep(1e9)
        turn.reply(turn.message.text)

    async def life(world: World) -> None:
        await world.say("hang", to=key(0))
        await world.say("behind", to=key(0))
        for session in range(1, 50):
            await world.say(f"s{session}", to=key(session))
        await world.sleep(5)
        assert sorted(texts(world)) == sorted(f"s{n}" for n in range(1, 50))

    live(tmp_path, agent, life)


def test_collected_messages_are_one_turn_with_all_of_them(tmp_path: Path) -> None:
    agent = agent_of(queue=QueuePolicy("collect", quiet_s=1.0, wait_max_s=10.0))

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        turn.state.seen.append("+".join(m.text for m in turn.messages))
        turn.reply(f"{len(turn.messages)}")

    async def life(world: World) -> None:
        for text in ("a", "b", "c"):
            await world.say(text)
            await world.sleep(0.6)
        await world.sleep(3)
        await world.say("d")
        await world.settle()
        assert (await state(world))["seen"] == ["a+b+c", "d"]
        assert texts(world) == ["3", "1"]

    live(tmp_path, agent, life)


def test_somebody_who_never_stops_typing_gets_a_turn_all_the_same(tmp_path: Path) -> None:
    agent = agent_of(queue=QueuePolicy("collect", quiet_s=2.0, wait_max_s=5.0))

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        turn.state.seen.append("".join(m.text for m in turn.messages))

    async def life(world: World) -> None:
        for text in "abcdefghijkl":
            await world.say(text)
            await world.sleep(1)
        await world.settle()
        seen = (await state(world))["seen"]
        assert "".join(seen) == "abcdefghijkl"
        assert len(seen) > 1

    live(tmp_path, agent, life)


def test_a_batch_that_recorded_a_step_runs_again_over_the_same_messages(tmp_path: Path) -> None:
    agent = agent_of(queue=QueuePolicy("collect", quiet_s=1.0), failure=Failure(backoff_s=5.0))
    asked: list[str] = []

    async def model(text: str) -> str:
        asked.append(text)
        return text.upper()

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        answer = await turn.step(model, turn.message.text)
        if turn.attempt == 1 and len(asked) == 1:
            raise ConnectionError("down")
        turn.state.seen.append(answer)

    async def life(world: World) -> None:
        await world.say("a")
        await world.say("b")
        await world.sleep(2)
        await world.say("c")
        await world.settle()
        assert (await state(world))["seen"] == ["A\nB", "C"]
        assert asked == ["a\nb", "c"]

    live(tmp_path, agent, life)


def command(text: str) -> NewRow:
    event = Event("default", "op", text, "command", KEY, "a", {"text": text}, kind=Kind.COMMAND, rank=Rank.COMMAND)
    return NewRow(event)


def test_a_command_overtakes_what_is_queued_and_what_is_put_off(tmp_path: Path) -> None:
    agent = agent_of(failure=Failure(attempts_max=2, backoff_s=100.0, notice=""))
    asked: list[str] = []

    async def model(text: str) -> str:
        asked.append(text)
        return text

    @agent.on("command")
    async def obey(turn: Turn[Log]) -> None:
        turn.state.seen.append(turn.message.text)

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        turn.state.seen.append(await turn.step(model, turn.message.text))
        if turn.attempt == 1 and turn.message.text == "bad":
            raise ConnectionError("down")

    async def life(world: World) -> None:
        await world.say("bad")
        await world.say("later")
        await world.sleep(1)
        await world.store.inbox.put([command("stop")])
        await world.sleep(5)
        assert (await state(world))["seen"] == ["stop"]
        await world.settle()
        assert (await state(world))["seen"] == ["stop", "bad", "later"]
        assert asked == ["bad", "later"]

    live(tmp_path, agent, life)


def test_a_turn_that_a_command_overtakes_keeps_its_recorded_steps_under_the_same_lease(tmp_path: Path) -> None:
    agent = agent_of(failure=Failure(backoff_s=2.0))
    asked: list[str] = []

    async def model(text: str) -> str:
        asked.append(text)
        return text

    @agent.on("command")
    async def obey(turn: Turn[Log]) -> None:
        await asyncio.sleep(5)  # meanwhile the message is due again, so that it follows without a release
        turn.state.seen.append(turn.message.text)

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        turn.state.seen.append(await turn.step(model, turn.message.text))
        if turn.attempt == 1:
            raise ConnectionError("down")

    async def life(world: World) -> None:
        await world.say("bad")
        await world.sleep(0.1)
        await world.store.inbox.put([command("stop")])
        await world.settle()
        assert (await state(world))["seen"] == ["stop", "bad"]
        assert asked == ["bad"]

    live(tmp_path, agent, life)


def test_a_lost_leases_turn_leaves_nothing_and_the_new_owners_turn_counts(tmp_path: Path) -> None:
    agent = agent_of()
    entered, go_on = asyncio.Event(), asyncio.Event()
    runs: list[int] = []
    refused: list[str] = []

    async def look() -> int:
        return len(runs)

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        runs.append(1)
        turn.reply(f"run {len(runs)}")
        turn.state.seen.append(f"run {len(runs)}")
        if len(runs) == 1:
            entered.set()
            await go_on.wait()
            try:
                await turn.step(look)
            except FenceLost:
                refused.append("step")

    async def life(world: World) -> None:
        await world.say("go")
        await entered.wait()
        ref = SessionRef("default", KEY)
        await world.store.adopt()
        await asyncio.sleep(0.01)
        [taken] = await world.store.leases.acquire([ref], "other", 30.0)
        assert isinstance(taken, Held)
        before = await world.store.reads.session(ref)
        go_on.set()
        await world.sleep(5)
        after = await world.store.reads.session(ref)
        assert before is not None
        assert after is not None
        assert {**after, "lease_until": 0} == {**before, "lease_until": 0}
        assert texts(world) == []
        assert refused == ["step"]
        await world.store.leases.release([taken.lease])
        await world.settle()
        assert texts(world) == ["run 2"]
        assert (await state(world))["seen"] == ["run 2"]

    live(tmp_path, agent, life)


def test_an_event_that_nobody_handles_is_told_and_passed_over(tmp_path: Path) -> None:
    agent = agent_of()

    @agent.on("message")
    async def chat(turn: Turn[Log]) -> None:
        turn.reply(turn.message.text)

    async def life(world: World) -> None:
        await world.say("x", type_="unknown.thing")
        await world.say("hello")
        await world.settle()
        assert "event.unhandled" in await story(world)
        assert texts(world) == ["hello"]

    live(tmp_path, agent, life)
