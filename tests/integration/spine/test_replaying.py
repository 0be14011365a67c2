"""Replay: what came after a checkpoint is run again by today's app, compared, and written nowhere."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from consumers.replayed import Report
from consumers.replaying import replay
from sessionstore.errors import BadInput, NotFound
from sessionstore.inbox import SessionRef
from tests.integration.spine.living import KEY, channel, live, texts
from tests.integration.spine.operated import REF, closings, counting, operator
from turnline import Agent, Decision, Fired, Outcome, Session, ToolCall, Turn
from turnline.testing import World

steps: list[str] = []


def shop(*, price: int = 3, polite: bool = False, again: bool = False) -> Agent[Any]:
    """Looks a price up, asks, pays by a tool, and says so after a while; newer code may do some of it differently."""
    agent: Agent[Any] = Agent("a")

    async def look_up(name: str) -> int:
        steps.append(name)
        return price

    @agent.observer("stock")
    async def stock(session: Session[Any]) -> int:
        return price

    @agent.on("message")
    async def message(turn: Turn) -> None:
        cost = await turn.step_as("look_up", look_up, turn.message.text)
        turn.state["cost"] = cost
        turn.ask(f"{turn.message.text} for {cost}?", then=decided, binds=["stock"])

    @agent.continuation
    async def decided(turn: Turn, decision: Decision) -> None:
        turn.reply(f"{'Thank you: ' if polite else ''}{decision.status}")
        if decision.approved:
            turn.call(pay, then=paid, cost=turn.state["cost"])

    @agent.continuation
    async def paid(turn: Turn, outcome: Outcome[Any]) -> None:
        turn.state["paid"] = outcome.result
        turn.reply(f"paid {outcome.result}")
        if again:
            turn.call(pay, then=paid, cost=0)
        turn.schedule("1h", then=rang)

    @agent.continuation
    async def rang(turn: Turn, fired: Fired) -> None:
        turn.reply("was it good?")

    @agent.tool(idempotent=True)
    async def pay(call: ToolCall, cost: int) -> str:
        return f"receipt {cost}"

    return agent


async def bought(world: World) -> None:
    """One purchase, after a first message that makes the checkpoint to go back to."""
    steps.clear()
    await world.say("tea")
    await world.settle()
    await world.answer("rejected")
    await world.settle()
    await world.say("cake")
    await world.settle()
    await world.answer("approved")
    await world.sleep(7200)
    assert texts(world)[-3:] == ["approved", "paid receipt 3", "was it good?"]


async def replayed(world: World, agent: Agent[Any], **more: Any) -> Report:
    """A replay from the second checkpoint, which must leave no trace."""
    before = await traces(world)
    report = await replay(world.store, {"a": agent}, REF, (await closings(world))[1], **more)
    assert await traces(world) == before
    return report


async def traces(world: World) -> tuple[Any, ...]:
    reads = world.store.reads
    transcript = await reads.transcript(REF, limit=1_000)
    session = await world.session(KEY)
    effects = await reads.effects(None, limit=1_000)
    waits = await reads.waits(None, status="", limit=1_000)
    return transcript, session, effects, waits, list(channel(world).arrivals), await reads.balances(None)


def test_the_same_app_decides_the_same(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await bought(world)
        for effects, stubs in (("recorded", {}), ("stubbed", {"pay": "receipt 3"})):
            report = await replayed(world, shop(), effects=effects, stubs=stubs)
            assert report.same, report
            assert (report.turns, report.left_out) == (4, ())
            assert [c.text for c in report.chapters] == ["cake", "approved by tester", "fired by time"]
            assert [d.text for c in report.chapters for d in c.then if d.kind == "reply"] == [
                "approved",
                "paid receipt 3",
                "was it good?",
            ]

    live(tmp_path, shop(), life)


def test_a_recorded_step_is_reused_and_a_fact_is_as_it_was(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await bought(world)
        report = await replayed(world, shop(price=99), effects="recorded")
        assert report.same, report
        assert steps == ["tea", "cake"]

    live(tmp_path, shop(), life)


def test_newer_code_shows_by_what_it_decides(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await bought(world)
        report = await replayed(world, shop(polite=True), effects="recorded")
        assert not report.same
        [difference] = report.chapters[1].differences
        assert [d.text for d in difference.then] == ["approved"]
        assert [d.text for d in difference.now] == ["Thank you: approved"]
        assert [c.differences for c in report.chapters if c.text != "approved by tester"] == [(), ()]

    live(tmp_path, shop(), life)


@pytest.mark.parametrize(("stubs", "paid"), [({"pay": "nothing"}, "nothing"), ({}, None)])
def test_stubs_stand_for_effects(tmp_path: Path, stubs: Mapping[str, Any], paid: Any) -> None:
    async def life(world: World) -> None:
        await bought(world)
        report = await replayed(world, shop(), stubs=stubs)
        assert (report.state_before["paid"], report.state_after["paid"]) == ("receipt 3", paid)

    live(tmp_path, shop(), life)


def test_a_loop_of_stubbed_effects_comes_to_an_end_and_is_said(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await bought(world)
        report = await replayed(world, shop(again=True))
        assert any("in a row" in text for text in report.left_out)

    live(tmp_path, shop(), life)


def test_an_answer_to_what_is_not_asked_now_is_left_out_and_said(tmp_path: Path) -> None:
    silent: Agent[Any] = Agent("a")

    @silent.on("message")
    async def message(turn: Turn) -> None:
        turn.reply("no")

    async def life(world: World) -> None:
        await bought(world)
        report = await replayed(world, silent, effects="recorded")
        assert [text.partition(" at ")[0] for text in report.left_out][:2] == [
            "approved by tester",
            "pay(cost=3) delivered",
        ]
        assert not report.same

    live(tmp_path, shop(), life)


def test_a_handler_that_fails_now_is_told_as_a_failure(tmp_path: Path) -> None:
    broken: Agent[Any] = Agent("a")

    @broken.on("message")
    async def message(turn: Turn) -> None:
        raise RuntimeError("broken by an update")

    async def life(world: World) -> None:
        for text in ("one", "two"):
            await world.say(text)
            await world.settle()
        report = await replay(world.store, {"a": broken}, REF, (await closings(world))[0])
        kinds = [d.kind for c in report.chapters for d in c.now]
        assert "failure" in kinds
        assert report.state_after == {"seen": ["one"]}

    live(tmp_path, counting(), life)


def test_it_ends_where_it_is_told_to_and_before_a_rewind(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        for text in ("one", "two", "three"):
            await world.say(text)
            await world.settle()
        ends = await closings(world)
        report = await replay(world.store, {"a": counting()}, REF, ends[0], to_seq=ends[1])
        assert ([c.text for c in report.chapters], report.to_seq, report.same) == (["two"], ends[1], True)
        await operator(world).rewind(REF, "ann", ends[0])
        await world.say("four")
        await world.settle()
        report = await replay(world.store, {"a": counting()}, REF, ends[0])
        assert [c.text for c in report.chapters] == ["two", "three"]
        assert "rewind" in report.left_out[-1]

    live(tmp_path, counting(), life)


def test_what_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("one")
        await world.settle()
        [end] = await closings(world)
        agents = {"a": counting()}
        for wrong, why in (({}, BadInput), (agents, NotFound)):
            with pytest.raises(why):
                await replay(world.store, wrong, REF, end if not wrong else end + 1)
        with pytest.raises(BadInput):
            await replay(world.store, agents, REF, end - 1)
        with pytest.raises(BadInput):
            await replay(world.store, agents, REF, end, effects="live")
        with pytest.raises(NotFound):
            await replay(world.store, agents, SessionRef("default", "agent:a/fake:x/dm:none"), end)

    live(tmp_path, counting(), life)
