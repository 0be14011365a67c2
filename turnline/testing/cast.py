"""The agents of a simulation: each event carries what its turn shall do, and the state remembers what was seen."""

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from consumers.agent import Agent, App, Failure, QueuePolicy
from consumers.outcome import Decision, Fired, Outcome
from consumers.session import Session
from consumers.tools import ToolCall, ToolFailed, ToolNotReady
from consumers.turn import Turn
from outbox.adapter import Delivered, Idempotency, LookupResult, NotSent, Rejected
from turnline.testing.chronicle import Expected
from turnline.testing.outside import TIMEOUT_S, Outside, Request

TURN_TIMEOUT_S = 6.0

Act = list[Any]
"""One thing that a turn shall do: its word, then its parameters."""


class Book(BaseModel):
    """What a session remembers: every event, outcome, decision and timer that its handlers saw, once each."""

    seen: list[str] = []
    outcomes: list[str] = []
    decisions: list[str] = []
    fired: list[str] = []


def make_cast(outside: Outside) -> App:
    """Agents that wait their turn (`echo`), gather (`collect`) and block (`slow`, whose handlers are synchronous)."""
    return App(
        agents=[
            _Player(outside, "echo", QueuePolicy()).agent,
            _Player(outside, "collect", QueuePolicy("collect", quiet_s=1.0, wait_max_s=4.0, batch_max=5)).agent,
            _Player(outside, "slow", QueuePolicy(), synchronous=True).agent,
        ]
    )


class _Player:
    """One agent, and what its handlers do."""

    def __init__(self, outside: Outside, name: str, queue: QueuePolicy, *, synchronous: bool = False) -> None:
        self.outside = outside
        failure = Failure(attempts_max=3, backoff_s=0.5, backoff_max_s=2.0)
        self.agent: Agent[Book] = Agent(name, state=Book, queue=queue, failure=failure, timeout_s=TURN_TIMEOUT_S)
        self.agent.on("message", "nudge")(self._sync_message if synchronous else self._message)
        for continuation in (self.called, self.decided, self.fired):
            self.agent.continuation(continuation)
        self.agent.observer("fact")(self._fact)
        _add_tools(self.agent, outside)
        if name == "echo":
            self.agent.cron("* * * * *", tz="UTC", misfire="run_all", name="each")(self.tick)
            self.agent.cron("*/2 * * * *", tz="UTC", misfire="run_once", overlap="skip", name="some")(self.tock)

    async def _message(self, turn: Turn[Book]) -> None:
        self._note(turn)
        for event in turn.events:
            for act in event.data["acts"]:
                await self._act(turn, event.id, act)

    def _sync_message(self, turn: Turn[Book]) -> None:
        self._note(turn)
        for event in turn.events:
            for act in event.data["acts"]:
                self._act_at_once(turn, event.id, act)

    async def called(self, turn: Turn[Book], outcome: Outcome[Any]) -> None:
        """An effect has ended: perhaps the run goes on with another one."""
        turn.state.outcomes.append(f"{outcome.effect_id}:{outcome.status}")
        left = outcome.result.get("left", 0) if outcome.ok and isinstance(outcome.result, dict) else 0
        if left > 0:
            turn.call("native", left=left - 1, then=self.called)

    async def decided(self, turn: Turn[Book], decision: Decision) -> None:
        """A question has ended."""
        turn.state.decisions.append(f"{decision.wait_id}:{decision.status}:{decision.by}")
        if decision.approved:
            turn.call("native" if decision.data is None else decision.data, then=self.called)
        turn.reply(f"decided {decision.status}")

    async def fired(self, turn: Turn[Book], fired: Fired) -> None:
        """A timer rang."""
        turn.state.fired.append(fired.wait_id)
        turn.reply("rang")

    async def tick(self, turn: Turn[Book]) -> None:
        """Every minute."""
        self._note(turn)
        turn.call("native", then=self.called)

    async def tock(self, turn: Turn[Book]) -> None:
        """Every other minute."""
        self._note(turn)
        await asyncio.sleep(1.0)

    def _note(self, turn: Turn[Book]) -> None:
        turn.state.seen += [f"{event.source}/{event.id}" for event in turn.events]

    async def _act(self, turn: Turn[Book], event_id: str, act: Act) -> None:
        match act:
            case ["sleep", seconds]:
                await asyncio.sleep(min(seconds, 1.0) if self.outside.healed else seconds)
            case ["stubborn", seconds]:
                await _stubborn(0.0 if self.outside.healed else seconds)
            case ["step", name, seconds]:
                got = await turn.step_as(f"{event_id}.{name}.{seconds}", self._look_up, name, seconds)
                turn.reply(f"step {name} gave {got}")
            case _:
                self._act_at_once(turn, event_id, act)

    def _act_at_once(self, turn: Turn[Book], event_id: str, act: Act) -> None:
        match act:
            case ["reply"]:
                turn.reply(f"re {event_id}")
            case ["send", adapter]:
                turn.send(f"to {adapter}", {"adapter": adapter, "lane": f"{adapter}-other"})
            case ["call", tool, left]:
                turn.call(tool, left=left, then=self.called)
            case ["fire", tool, ttl]:
                turn.call(tool, ttl=ttl)
            case ["ask", tool, binds, expires]:
                turn.ask("may I?", then=self.decided, binds=binds, expires=expires, data=tool)
            case ["timer", seconds]:
                turn.schedule(seconds, then=self.fired)
            case ["fail", times]:
                if self.outside.breaks(f"{turn.session.tenant}/{event_id}", times):
                    raise Expected("the handler failed")
            case ["complete"]:
                turn.complete("done")

    async def _look_up(self, name: str, seconds: float) -> int:
        await asyncio.sleep(0.1 if self.outside.healed else seconds)
        self.outside.breaks(f"step {name}", 0)
        return self.outside.failures[f"step {name}"]

    async def _fact(self, session: Session[Book]) -> int:
        return self.outside.fact(session.key)


async def _stubborn(seconds: float) -> None:
    """A handler that will not be told to stop."""
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.sleep(0.1)


def _add_tools(agent: Agent[Book], outside: Outside) -> None:
    tools = _Tools(agent.name, outside)
    agent.tool(idempotent=True, timeout_s=TIMEOUT_S)(tools.native)
    agent.tool(lookup=tools.find, timeout_s=TIMEOUT_S)(tools.findable)
    agent.tool(lookup=tools.find_started, timeout_s=TIMEOUT_S)(tools.startable)
    agent.tool(timeout_s=TIMEOUT_S)(tools.blind)
    agent.tool(on_unknown="resend", timeout_s=TIMEOUT_S)(tools.again)
    agent.tool(on_unknown="drop", timeout_s=TIMEOUT_S)(tools.drop)


TOOLS: Sequence[str] = ("native", "findable", "startable", "blind", "again", "drop")


class _Tools:
    """One tool of each class and policy."""

    def __init__(self, agent: str, outside: Outside) -> None:
        self._agent = agent
        self._outside = outside

    async def native(self, call: ToolCall, left: int = 0) -> dict[str, int]:
        """The other side does one key once."""
        return await self._take(call, Idempotency.NATIVE, "native", left)

    async def findable(self, call: ToolCall, left: int = 0) -> dict[str, int]:
        """It can be asked whether it was done."""
        return await self._take(call, Idempotency.LOOKUP, "findable", left)

    async def startable(self, call: ToolCall, left: int = 0) -> dict[str, int]:
        """As `findable`; its job's id is told first."""
        await call.started(f"job-{call.key[:8]}")
        return await self._take(call, Idempotency.LOOKUP, "startable", left)

    async def blind(self, call: ToolCall, left: int = 0) -> dict[str, int]:
        """Nobody can tell; a person is asked."""
        return await self._take(call, Idempotency.NONE, "blind", left)

    async def again(self, call: ToolCall, left: int = 0) -> dict[str, int]:
        """Nobody can tell; it is done again."""
        return await self._take(call, Idempotency.NONE, "again", left)

    async def drop(self, call: ToolCall, left: int = 0) -> dict[str, int]:
        """Nobody can tell; it is given up."""
        return await self._take(call, Idempotency.NONE, "drop", left)

    async def find(self, call: ToolCall, left: int = 0) -> LookupResult:
        """The look-up of `findable`."""
        return await self._outside.find(self._request(call, Idempotency.LOOKUP, "findable"))

    async def find_started(self, call: ToolCall, left: int = 0) -> LookupResult:
        """The look-up of `startable`."""
        return await self._outside.find(self._request(call, Idempotency.LOOKUP, "startable"))

    def _request(self, call: ToolCall, idempotency: Idempotency, name: str) -> Request:
        return Request(f"tool:{self._agent}.{name}", idempotency, call.key, call.attempt, call.session)

    async def _take(self, call: ToolCall, idempotency: Idempotency, name: str, left: int) -> dict[str, int]:
        match await self._outside.take(self._request(call, idempotency, name)):
            case Delivered():
                return {"left": left}
            case NotSent(reason=reason):
                raise ToolNotReady(reason)
            case Rejected(reason=reason):
                raise ToolFailed(reason)
            case unknown:
                raise Expected(unknown.reason)
