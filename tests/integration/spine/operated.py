"""Agents and a desk for tests of operator actions."""

import asyncio
from typing import Any

from consumers.operator import Operator
from sessionstore.inbox import SessionRef
from sessionstore.record import Record
from tests.integration.spine.living import KEY
from turnline import Agent, Decision, Fired, Outcome, ToolCall, Turn
from turnline.testing import World

REF = SessionRef("default", KEY)
FORK = "agent:a/fake:x/dm:fork"


def operator(world: World) -> Operator:
    return Operator(world.store, world.clock)


def counting() -> Agent[Any]:
    agent: Agent[Any] = Agent("a")

    @agent.on("message")
    async def message(turn: Turn) -> None:
        turn.state["seen"] = [*turn.state.get("seen", []), turn.message.text]
        turn.reply(f"{turn.message.text}!")

    @agent.on("cancel")
    async def cancelled(turn: Turn) -> None:
        turn.state["cancelled"] = turn.message.data["by"]

    return agent


async def record(world: World, key: str = KEY) -> Record:
    found: Record = (await world.session(key))["record"]
    return found


async def closings(world: World, key: str = KEY) -> list[int]:
    rows = await world.store.reads.transcript(SessionRef("default", key), limit=1_000)
    return [row["seq"] for row in rows if row["type"] in ("turn.closed", "operator.closed")]


def stuck() -> Agent[Any]:
    """A long turn, after one that asks, sets a timer and calls a slow tool."""
    agent: Agent[Any] = Agent("a")

    @agent.on("message")
    async def message(turn: Turn) -> None:
        if turn.message.text == "long":
            await asyncio.sleep(200)
        if turn.message.text == "start":
            turn.ask("Sure?", then=decided)
            turn.schedule("1h", then=rang)
            turn.call(slow, then=ended)
        turn.reply(turn.message.text)

    @agent.continuation
    async def decided(turn: Turn, decision: Decision) -> None:
        turn.reply("decided")

    @agent.continuation
    async def rang(turn: Turn, fired: Fired) -> None:
        turn.reply("rang")

    @agent.continuation
    async def ended(turn: Turn, outcome: Outcome[str]) -> None:
        turn.reply(f"ended {outcome.status}")

    @agent.tool(idempotent=True)
    async def slow(call: ToolCall) -> str:
        await asyncio.sleep(100)
        return "done"

    @agent.on("cancel")
    async def cancelled(turn: Turn) -> None:
        turn.reply("stopped")

    return agent
