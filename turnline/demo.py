"""The built-in demo agent: what `turnline dev` runs when no app is given.

It shows each thing once: a reply, a question with approval, a tool call with an outcome, a timer, a cron tick. Its one
side effect is real: an order is a file in the data folder, and its look-up reads that file.
"""

import asyncio
import re
from pathlib import Path

from pydantic import BaseModel

from turnline import Absent, Agent, App, Decision, Fired, Outcome, Succeeded, ToolCall, Turn

HELP = """Hello! I am the demo agent. Everything that I do survives a `kill -9`. Try:

- `order two coffees` – I ask you first, then a tool does it
- `remind me in 10s to stretch` – a timer
- `count` – how many messages I have seen
- anything else – I echo it"""

ORDER = re.compile(r"order\s+(.+)", re.IGNORECASE | re.DOTALL)
REMIND = re.compile(r"remind me in (\S+) to (.+)", re.IGNORECASE | re.DOTALL)


class Demo(BaseModel):
    """What the demo remembers of a chat."""

    seen: int = 0
    orders: list[str] = []
    ticks: int = 0


class Order(BaseModel):
    """What the order tool returns."""

    number: str
    item: str


def demo_app(data: Path) -> App:
    """The demo, keeping its orders under `data`."""
    demo: Agent[Demo] = Agent("demo", state=Demo)
    _add_tool(demo, data / "demo-orders")
    demo.on("message")(chat)
    for follow_up in (ordered, placed, remind):
        demo.continuation(follow_up)
    demo.cron("*/5 * * * *", tz="UTC", misfire="run_once", overlap="skip")(tick)
    return App(agents=[demo])


def _add_tool(demo: Agent[Demo], orders: Path) -> None:
    async def find_order(call: ToolCall, item: str) -> Succeeded | Absent:
        done = await asyncio.to_thread((orders / call.key).exists)
        return Succeeded(Order(number=call.key[:8], item=item)) if done else Absent()

    @demo.tool(lookup=find_order)
    async def place_order(call: ToolCall, item: str) -> Order:
        await asyncio.to_thread(_write, orders / call.key, item)
        return Order(number=call.key[:8], item=item)


async def chat(turn: Turn[Demo]) -> None:
    """What a message does."""
    turn.state.seen += 1
    text = turn.message.text.strip()
    if match := ORDER.fullmatch(text):
        turn.goal("Order something, with a person's consent")
        turn.phase("asking")
        turn.ask(f"Shall I order {match[1]}?", then=ordered, expires="1h", data=match[1])
    elif match := REMIND.fullmatch(text):
        turn.schedule(match[1], then=remind, data=match[2])
        turn.reply(f"I will remind you in {match[1]}.")
    elif text.lower() == "count":
        turn.reply(f"This is message {turn.state.seen}; you have {len(turn.state.orders)} orders.")
    elif text.lower() in ("", "help", "hello", "hi", "hey"):
        turn.reply(HELP)
    else:
        turn.reply(f"You said: {text}")


async def ordered(turn: Turn[Demo], decision: Decision) -> None:
    """The person has decided, or nobody did in time."""
    if not decision.approved:
        turn.phase("idle")
        turn.reply(f"Not ordered ({decision.status}).")
        return
    turn.phase("ordering")
    turn.call("place_order", item=decision.data, then=placed)
    turn.reply("Ordering…")


async def placed(turn: Turn[Demo], outcome: Outcome[Order]) -> None:
    """The tool has ended, one way or the other."""
    turn.phase("idle")
    if outcome.ok and outcome.result is not None:
        turn.state.orders.append(outcome.result.number)
        turn.reply(f"Order **{outcome.result.number}** is placed: {outcome.result.item}.")
    else:
        turn.reply(f"The order did not go through: {outcome.error or outcome.status}.")


async def remind(turn: Turn[Demo], fired: Fired) -> None:
    """The timer rang."""
    turn.reply(f"Reminder: {fired.data}")


async def tick(turn: Turn[Demo]) -> None:
    """Every five minutes, in a session of the job's own."""
    turn.state.ticks += 1
    turn.reply(f"Tick {turn.state.ticks}, for {turn.message.data['nominal']}.")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
