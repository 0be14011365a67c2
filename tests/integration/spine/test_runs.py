"""Runs: calls and their outcomes, questions bound to facts, timers, and what a crash in between leaves."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from outbox.adapter import Idempotency
from tests.integration.spine.living import KEY, Mortal, live, state, story, texts
from turnline import (
    Absent,
    Agent,
    Decision,
    Fired,
    Outcome,
    Running,
    Succeeded,
    ToolCall,
    ToolFailed,
    Turn,
)
from turnline.testing import FakeChannel, World


class Release(BaseModel):
    log: list[str] = []


class Platform:
    """An outside system: deployments by key, and the commit that is there now."""

    def __init__(self) -> None:
        self.commit = "abc"
        self.calls: list[str] = []
        self.done: dict[str, str] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def deploy(self, key: str, commit: str) -> str:
        self.calls.append(commit)
        await self.gate.wait()
        self.done.setdefault(key, commit)
        return f"deployed {commit}"


def releasing(platform: Platform, *, calls: int = 1) -> Agent[Release]:
    """An agent that asks, bound to the commit, deploys when told so, and says how it went."""
    agent: Agent[Release] = Agent("a", state=Release)

    @agent.observer("commit")
    async def commit(session: Any) -> str:
        return platform.commit

    @agent.tool(idempotent=True)
    async def deploy(call: ToolCall, commit: str, part: int = 0) -> str:
        if commit == "broken":
            raise ToolFailed("it does not build")
        return await platform.deploy(call.key, commit)

    @agent.on("message")
    async def chat(turn: Turn[Release]) -> None:
        turn.state.log.append(turn.message.text)
        if turn.message.text == "ask":
            turn.ask("Deploy?", then=ship, binds=["commit"])
        elif turn.message.text.startswith("deploy "):
            turn.call(deploy, then=deployed, commit=turn.message.text.removeprefix("deploy "))
        else:
            turn.reply(turn.message.text)

    @agent.continuation
    async def ship(turn: Turn[Release], decision: Decision) -> None:
        turn.state.log.append(decision.status)
        if decision.approved:
            for part in range(calls):
                turn.call(deploy, commit=turn.facts["commit"], part=part, lane=f"part{part}", then=deployed)

    @agent.continuation
    async def deployed(turn: Turn[Release], outcome: Outcome[str]) -> None:
        turn.state.log.append(outcome.status)
        turn.reply(outcome.result or outcome.error or outcome.status)

    return agent


def test_an_outcome_goes_to_its_continuation(tmp_path: Path) -> None:
    platform = Platform()

    async def life(world: World) -> None:
        await world.say("deploy v1")
        await world.say("deploy broken")
        await world.settle()
        assert texts(world) == ["deployed v1", "it does not build"]
        assert (await state(world))["log"] == ["deploy v1", "delivered", "deploy broken", "failed"]

    live(tmp_path, releasing(platform), life)


def test_an_open_run_holds_messages_back_and_lets_them_go_at_its_end(tmp_path: Path) -> None:
    platform = Platform()
    platform.gate.clear()

    async def life(world: World) -> None:
        await world.say("deploy v1")
        await world.sleep(1)
        await world.say("hello")
        await world.say("there")
        await world.sleep(60)
        assert (await state(world))["log"] == ["deploy v1"]
        platform.gate.set()
        await world.settle()
        assert (await state(world))["log"] == ["deploy v1", "delivered", "hello", "there"]

    live(tmp_path, releasing(platform), life)


def test_waiting_for_a_person_holds_nothing_back(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("ask")
        await world.say("hello")
        await world.settle()
        assert (await state(world))["log"] == ["ask", "hello"]
        await world.answer("reject")
        await world.settle()
        assert (await state(world))["log"] == ["ask", "hello", "rejected"]

    live(tmp_path, releasing(Platform()), life)


def test_an_approval_that_holds_is_carried_out_once(tmp_path: Path) -> None:
    platform = Platform()

    async def life(world: World) -> None:
        await world.say("ask")
        await world.settle()
        await world.answer("approve")
        await world.settle()
        assert platform.calls == ["abc"]
        assert (await state(world))["log"] == ["ask", "approved", "delivered"]

    live(tmp_path, releasing(platform), life)


def test_an_approval_is_void_when_its_fact_moved_before_the_answer(tmp_path: Path) -> None:
    platform = Platform()

    async def life(world: World) -> None:
        await world.say("ask")
        await world.settle()
        platform.commit = "def"
        await world.answer("approve")
        await world.settle()
        assert platform.calls == []
        assert (await state(world))["log"] == ["ask", "void"]

    live(tmp_path, releasing(platform), life)


@pytest.mark.parametrize("calls", [1, 3])
def test_an_approval_is_asked_for_again_once_when_its_fact_moves_before_the_call(tmp_path: Path, calls: int) -> None:
    platform = Platform()
    agent = releasing(platform, calls=calls)
    looks = []

    @agent.observer("slow")
    async def slow(session: Any) -> None: ...

    async def look(session: Any) -> str:
        looks.append(1)
        # The handler of the approval looks first; what looks afterwards is the relay.
        if len(looks) == 2:
            platform.commit = "def"
        return platform.commit

    agent.observers["commit"] = look

    async def life(world: World) -> None:
        await world.say("ask")
        await world.settle()
        looks.clear()
        await world.answer("approve")
        await world.settle()
        assert platform.calls == []
        asked = [w for w in await world.store.reads.waits(None) if w["kind"] == "approval"]
        assert len(asked) == 1
        assert asked[0]["binds"] == {"commit": "def"}
        await world.answer("approve")
        await world.settle()
        assert platform.calls == ["def"] * calls
        assert (await state(world))["log"] == ["ask", "approved", "approved"] + ["delivered"] * calls

    live(tmp_path, agent, life)


def test_a_question_expires_and_its_continuation_is_told(tmp_path: Path) -> None:
    agent: Agent[Release] = Agent("a", state=Release)

    @agent.on("message")
    async def chat(turn: Turn[Release]) -> None:
        turn.ask("Go?", then=go, expires="10m")

    @agent.continuation
    async def go(turn: Turn[Release], decision: Decision) -> None:
        turn.state.log.append(decision.status)

    async def life(world: World) -> None:
        await world.say("ask")
        await world.sleep(620)
        await world.settle()
        assert (await state(world))["log"] == ["expired"]

    live(tmp_path, agent, life)


def test_a_timer_fires_once_across_a_crash(tmp_path: Path) -> None:
    agent: Agent[Release] = Agent("a", state=Release)

    @agent.on("message")
    async def chat(turn: Turn[Release]) -> None:
        turn.schedule("90s", then=wake, data=turn.message.text)

    @agent.continuation
    async def wake(turn: Turn[Release], fired: Fired) -> None:
        turn.state.log.append(str(fired.data))
        turn.reply("wake up")

    async def life(world: World) -> None:
        await world.say("nap")
        await world.sleep(30)
        await world.survive()
        await world.sleep(100)
        await world.settle()
        assert (await state(world))["log"] == ["nap"]
        assert texts(world) == ["wake up"]

    live(tmp_path, agent, life)


def test_recorded_steps_survive_a_crash_and_the_others_run_again(tmp_path: Path) -> None:
    agent: Agent[Release] = Agent("a", state=Release)
    asked: list[str] = []
    worlds: list[World] = []

    async def model(text: str) -> str:
        asked.append(text)
        if text == "second" and asked.count("second") == 1:
            worlds[0].fuse.blown.set()
        return text.upper()

    @agent.on("message")
    async def chat(turn: Turn[Release]) -> None:
        for text in ("first", "second", "third"):
            turn.state.log.append(await turn.step(model, text))
        turn.reply("done")

    async def life(world: World) -> None:
        worlds.append(world)
        await world.say("go")
        await world.settle()
        assert world.crashes == 1
        assert asked == ["first", "second", "second", "third"]
        assert (await state(world))["log"] == ["FIRST", "SECOND", "THIRD"]
        assert texts(world) == ["done"]
        assert (await story(world)).count("step.recorded") == 3

    live(tmp_path, agent, life)


def echoing() -> Agent[Release]:
    agent: Agent[Release] = Agent("a", state=Release)

    @agent.on("message")
    async def chat(turn: Turn[Release]) -> None:
        turn.reply(turn.message.text, then=sent)

    @agent.continuation
    async def sent(turn: Turn[Release], outcome: Outcome[Any]) -> None:
        turn.state.log.append(outcome.status)

    return agent


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("idempotency", [Idempotency.NATIVE, Idempotency.LOOKUP])
def test_a_relay_that_died_while_sending_leaves_one_delivery(
    tmp_path: Path, done: bool, idempotency: Idempotency
) -> None:
    channel = Mortal(done=done, idempotency=idempotency)

    async def life(world: World) -> None:
        await world.say("hello")
        await world.settle()
        assert world.crashes == 1
        assert texts(world) == ["hello"]
        keys = {sending.key for sending in channel.arrivals}
        assert len(keys) == 1
        assert len(channel.arrivals) == (1 if done and idempotency is Idempotency.LOOKUP else 2)
        assert (await state(world))["log"] == ["delivered"]

    live(tmp_path, echoing(), life, adapters=[channel])


@pytest.mark.parametrize("done", [True, False])
def test_what_no_key_and_no_look_up_can_tell_is_asked_about_and_sent_no_more(tmp_path: Path, done: bool) -> None:
    channel = Mortal(done=done, idempotency=Idempotency.NONE)

    async def life(world: World) -> None:
        await world.say("hello")
        await world.settle()
        assert len(channel.arrivals) == 1
        assert "outcome.asked" in await story(world)
        [effect] = await world.store.reads.effects(None)
        assert effect["state"] == "unknown"
        await world.store.operations.mark(effect["effect_id"], "delivered", "op", "seen")
        await world.settle()
        assert (await state(world))["log"] == ["delivered"]
        assert len(channel.arrivals) == 1

    live(tmp_path, echoing(), life, adapters=[channel])


def test_what_had_started_and_cannot_be_found_is_asked_about(tmp_path: Path) -> None:
    channel = Mortal(done=False, idempotency=Idempotency.LOOKUP, external_id="job-1")

    async def life(world: World) -> None:
        await world.say("hello")
        await world.settle()
        [effect] = await world.store.reads.effects(None)
        assert (effect["state"], effect["external_id"]) == ("unknown", "job-1")
        assert len(channel.arrivals) == 1
        await world.store.operations.mark(effect["effect_id"], "failed", "op", "")
        await world.settle()
        assert (await state(world))["log"] == ["failed"]

    live(tmp_path, echoing(), life, adapters=[channel])


@pytest.mark.parametrize("found", ["absent", "running", "succeeded"])
def test_a_tools_look_up_decides_after_a_crash(tmp_path: Path, found: str) -> None:
    agent: Agent[Release] = Agent("a", state=Release)
    runs: list[str] = []
    looks: list[str] = []
    worlds: list[World] = []

    async def find(call: ToolCall, commit: str) -> Any:
        looks.append(found)
        if found == "absent":
            return Absent()
        return Running("job") if found == "running" and len(looks) < 4 else Succeeded(f"found {commit}")

    @agent.tool(lookup=find, timeout_s=20.0)
    async def deploy(call: ToolCall, commit: str) -> str:
        runs.append(commit)
        if len(runs) == 1:
            worlds[0].fuse.blown.set()
            await asyncio.sleep(1e9)
        return f"deployed {commit}"

    @agent.on("message")
    async def chat(turn: Turn[Release]) -> None:
        turn.call(deploy, commit="abc", then=deployed)

    @agent.continuation
    async def deployed(turn: Turn[Release], outcome: Outcome[str]) -> None:
        turn.reply(str(outcome.result))

    async def life(world: World) -> None:
        worlds.append(world)
        await world.say("go")
        await world.settle()
        assert texts(world) == ["deployed abc" if found == "absent" else "found abc"]
        assert len(runs) == (2 if found == "absent" else 1)

    live(tmp_path, agent, life, adapters=[FakeChannel()])


def test_a_crash_between_approval_and_call_deploys_once(tmp_path: Path) -> None:
    platform = Platform()

    async def life(world: World) -> None:
        await world.say("ask")
        await world.settle()
        await world.answer("approve")
        await world.survive()
        await world.settle()
        assert list(platform.done.values()) == ["abc"]
        assert (await state(world, KEY))["log"] == ["ask", "approved", "delivered"]

    live(tmp_path, releasing(platform), life)
