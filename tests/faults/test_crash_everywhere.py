"""A crash at every point of the demo's life, on the real engine and the real store."""

from pathlib import Path

import pytest

from outbox.adapter import Idempotency
from turnline import Agent, App, Outcome, ToolCall, Turn
from turnline.demo import demo_app
from turnline.testing import FakeChannel, World, crash_everywhere

pytestmark = pytest.mark.timeout(300)

KEY = "agent:demo/fake:x/dm:1"


async def order(world: World) -> None:
    """Talk, order, approve, be reminded."""
    await world.say("hello there")
    await world.say("order two coffees")
    await world.settle()
    await world.answer("approved")
    await world.say("remind me in 90s to stretch")
    await world.settle()
    await world.sleep(100)
    await world.settle()


def test_the_demo_survives_a_crash_at_every_point(tmp_path: Path) -> None:
    def make_app() -> App:
        return demo_app(tmp_path / "data")

    async def check(world: World) -> None:
        channel = world.adapters["fake"]
        assert isinstance(channel, FakeChannel)
        texts = channel.texts
        assert texts[0] == "You said: hello there"
        assert texts[1] == "Shall I order two coffees?"
        assert sum("is placed: two coffees" in text for text in texts) == 1
        assert texts[-1] == "Reminder: stretch"
        session = await world.session(KEY)
        assert session["record"]["state"]["seen"] == 3
        assert len(session["record"]["state"]["orders"]) == 1
        assert len(list((tmp_path / "data" / "demo-orders").iterdir())) == 1
        for path in (tmp_path / "data" / "demo-orders").iterdir():
            path.unlink()

    crashes = crash_everywhere(tmp_path / "worlds", make_app, order, check)
    print(f"{crashes.visited} crashes at {crashes.boundaries} boundaries")
    assert crashes.visited == 2 * crashes.boundaries


def counting_app(calls: list[str]) -> App:
    """A tool without key or look-up: nobody can tell whether it was done."""
    agent: Agent[None] = Agent("plain")

    @agent.tool(on_unknown="ask")
    async def act(call: ToolCall) -> str:
        calls.append(call.key)
        return "done"

    @agent.on("message")
    async def message(turn: Turn[None]) -> None:
        turn.call(act, then=acted)

    @agent.continuation
    async def acted(turn: Turn[None], outcome: Outcome[str]) -> None:
        turn.reply(outcome.status)

    return App(agents=[agent])


def test_what_nobody_can_recognise_is_done_at_most_once_and_asked_about(tmp_path: Path) -> None:
    calls: list[str] = []

    async def scenario(world: World) -> None:
        calls.clear()
        await world.say("go", to="agent:plain/fake:x/dm:1")
        await world.settle()

    async def check(world: World) -> None:
        assert len(calls) <= 1
        effects = await world.store.reads.effects(None)
        states = {effect["state"] for effect in effects if effect["adapter"].startswith("tool:")}
        assert states <= {"delivered", "unknown"}
        assert states

    crashes = crash_everywhere(tmp_path, lambda: counting_app(calls), scenario, check)
    print(f"{crashes.visited} crashes at {crashes.boundaries} boundaries")


@pytest.mark.parametrize("idempotency", [Idempotency.NATIVE, Idempotency.LOOKUP])
def test_replies_on_a_recognising_channel_are_done_once(tmp_path: Path, idempotency: Idempotency) -> None:
    async def scenario(world: World) -> None:
        for n in range(5):
            await world.say(f"message {n}")
        await world.settle()

    async def check(world: World) -> None:
        channel = world.adapters["fake"]
        assert isinstance(channel, FakeChannel)
        assert channel.texts == [f"You said: message {n}" for n in range(5)]

    crash_everywhere(
        tmp_path,
        lambda: demo_app(tmp_path / "data"),
        scenario,
        check,
        make_adapters=lambda: [FakeChannel(idempotency=idempotency)],
    )
