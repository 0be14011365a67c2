"""Operator actions on living sessions: what stops, what stays, what runs afterwards."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sessionstore.errors import Conflict, NotFound
from tests.integration.spine.living import KEY, live, state, story, texts
from tests.integration.spine.operated import REF, closings, counting, operator, stuck
from turnline import Agent, Turn
from turnline.testing import World


def test_a_paused_session_takes_messages_and_runs_none_until_it_is_unpaused(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("one")
        await world.settle()
        await operator(world).pause(REF, "ann", "look first")
        await world.say("two")
        await world.say("three")
        await world.sleep(120)
        assert texts(world) == ["one!"]
        session = await world.session(KEY)
        assert (session["status"], session["queued"]) == ("paused", 2)
        with pytest.raises(Conflict):
            await operator(world).pause(REF, "ann")
        await operator(world).unpause(REF, "ann")
        await world.settle()
        assert texts(world) == ["one!", "two!", "three!"]
        assert (await world.session(KEY))["status"] == "active"

    live(tmp_path, counting(), life)


def test_a_pause_sets_the_turn_under_way_aside_and_it_runs_again_from_its_recorded_steps(tmp_path: Path) -> None:
    calls: list[str] = []
    begun = asyncio.Event()
    agent: Agent[Any] = Agent("a")

    async def ask() -> str:
        calls.append("asked")
        return "plan"

    @agent.on("message")
    async def message(turn: Turn) -> None:
        plan = await turn.step(ask)
        begun.set()
        await asyncio.sleep(5)
        turn.reply(plan)

    async def life(world: World) -> None:
        await world.say("go")
        await begun.wait()
        await operator(world).pause(REF, "ann")
        await world.sleep(60)
        assert texts(world) == []
        await operator(world).unpause(REF, "ann")
        await world.settle()
        assert texts(world) == ["plan"]
        assert calls == ["asked"]
        assert (await world.session(KEY))["attempt"] == 0

    live(tmp_path, agent, life)


def test_cancel_stops_the_turn_and_the_run_and_tells_the_agent(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("start")
        await world.sleep(10)
        assert (await world.session(KEY))["run_id"]
        done = await operator(world).cancel(REF, "ann", "wrong branch")
        assert [state for _, state in done.withdrawn] == ["sending"]
        assert len(done.closed_waits) == 2
        await world.sleep(7200)
        await world.settle()
        assert texts(world) == ["Sure?", "start", "stopped"]
        session = await world.session(KEY)
        assert (session["run_id"], session["record"]["execution"]["awaited"]) == ("", {})
        # The tool was under way: what came of it is recorded, and runs nothing.
        [effect] = [e for e in await world.store.reads.effects("default") if e["adapter"] == "tool:a.slow"]
        assert (effect["state"], effect["unwanted"]) == ("delivered", 1)

    live(tmp_path, stuck(), life)


def test_cancel_drops_the_event_whose_turn_is_under_way(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("hi")
        await world.settle()
        await world.say("long")
        await world.sleep(5)
        await world.say("next")
        done = await operator(world).cancel(REF, "ann")
        assert done.dropped == 1
        await world.settle()
        assert texts(world) == ["hi", "stopped", "next"]
        [dropped] = await world.store.reads.dropped("default")
        assert dropped["reason"] == "cancelled by ann"

    live(tmp_path, stuck(), life)


def test_kill_ends_it_without_asking(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("long")
        await world.say("next")
        await world.sleep(5)
        await operator(world).kill(REF, "ann")
        await world.settle()
        assert texts(world) == []
        assert (await world.session(KEY))["status"] == "failed"
        await world.say("again")
        await world.settle()
        assert texts(world) == ["again"]
        assert (await world.session(KEY))["status"] == "active"

    live(tmp_path, stuck(), life)


def test_a_reset_begins_an_epoch_into_which_nothing_old_leaks(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("start")
        await world.sleep(10)
        await operator(world).pause(REF, "ann")
        await world.say("of the old epoch")
        await operator(world).reset(REF, "ann")
        await world.say("new")
        await world.sleep(7200)
        await world.settle()
        assert texts(world) == ["Sure?", "start", "new"]
        session = await world.session(KEY)
        assert (session["epoch"], session["status"]) == (1, "active")
        with pytest.raises(Conflict):
            await operator(world).rewind(REF, "ann", (await closings(world))[0])

    live(tmp_path, stuck(), life)


def test_an_archived_session_refuses_messages_and_its_timers_are_gone(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("start")
        await world.sleep(10)
        await operator(world).archive(REF, "ann")
        await world.say("hello?")
        await world.sleep(7200)
        await world.settle()
        assert texts(world) == ["Sure?", "start"]
        assert "the session is archived" in {d["reason"] for d in await world.store.reads.dropped("default")}

    live(tmp_path, stuck(), life)


def test_while_a_person_answers_messages_are_recorded_and_no_handler_runs(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("start")
        await world.sleep(10)
        await operator(world).takeover(REF, "ann")
        await world.say("are you there?")
        await world.sleep(300)  # the tool's outcome waits for the agent
        await operator(world).say(REF, "ann", "Ann here.")
        await world.sleep(10)
        assert texts(world) == ["Sure?", "start", "Ann here."]
        assert "message.in" in (await story(world))[-20:]
        with pytest.raises(Conflict):
            await operator(world).takeover(REF, "bob")
        await operator(world).handback(REF, "ann")
        await world.sleep(10)
        assert texts(world)[-1] == "ended delivered"
        await world.say("and now")
        await world.sleep(10)
        assert texts(world)[-1] == "and now"

    live(tmp_path, stuck(), life)


def test_an_edit_is_a_compare_and_set_and_a_transcript_event(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("one")
        await world.settle()
        version = (await world.session(KEY))["version"]
        await operator(world).edit(REF, "ann", lambda s: {**s, "seen": []}, expected_version=version)
        with pytest.raises(Conflict):
            await operator(world).edit(REF, "ann", lambda s: {}, expected_version=version)
        await world.say("two")
        await world.settle()
        assert await state(world) == {"seen": ["two"]}

    live(tmp_path, counting(), life)


def test_resume_runs_at_once_what_was_put_off(tmp_path: Path) -> None:
    tries: list[int] = []
    agent: Agent[Any] = Agent("a")

    @agent.on("message")
    async def message(turn: Turn) -> None:
        tries.append(turn.attempt)
        if len(tries) == 1:
            raise RuntimeError("no")
        turn.reply("done")

    async def life(world: World) -> None:
        await world.say("go")
        await world.sleep(0.2)
        assert tries == [1]
        await operator(world).resume(REF, "ann")
        await world.sleep(0.3)
        assert texts(world) == ["done"]

    live(tmp_path, agent, life)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        with pytest.raises(NotFound):
            await operator(world).pause(REF, "ann")
        await world.say("one")
        await world.settle()
        with pytest.raises(NotFound):
            await operator(world).rewind(REF, "ann", 999)

    live(tmp_path, counting(), life)
