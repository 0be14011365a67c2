"""Tools as effects: the relay runs an agent's function, and its class decides what a crash leaves to do."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_jsonable_python

from consumers.agent import Agent, Tool
from consumers.state import describe
from outbox.adapter import (
    CannotTell,
    Delivered,
    EffectAdapter,
    Idempotency,
    Limits,
    LookupResult,
    NotSent,
    Rejected,
    Sending,
    SendResult,
    Succeeded,
)
from outbox.relay import Moved
from sessionstore import patch
from sessionstore.effect import Claimed
from sessionstore.inbox import SessionRef
from sessionstore.record import new_record
from sessionstore.store import Store


class ToolFailed(Exception):
    """Raised by a tool that knows that nothing was done, or that it definitely failed. Any other error is unknown."""


class ToolNotReady(Exception):
    """Raised by a tool that knows that nothing was done and that a later attempt may help.

    `retry_after_s` is how long the other side asked to wait; the relay's own backoff comes on top.
    """

    def __init__(self, reason: str = "", *, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a tool's function gets first. `key` is the idempotency key, the same for every attempt."""

    key: str
    session: str
    tenant: str
    attempt: int
    external_id: str
    mark_started: Callable[[str], Awaitable[None]]

    async def started(self, external_id: str) -> None:
        """Make the other side's id durable while the call still runs."""
        await self.mark_started(external_id)


class ToolAdapter:
    """One tool as an `EffectAdapter`."""

    def __init__(self, tool: Tool) -> None:
        self.name = f"tool:{tool.agent}.{tool.name}"
        self._tool = tool
        known = Idempotency.NATIVE if tool.idempotent else Idempotency.LOOKUP if tool.lookup else Idempotency.NONE
        self._limits = Limits(idempotency=known, timeout_s=tool.timeout_s, attempts_max=tool.attempts_max)

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        """From what the tool declares."""
        return self._limits

    async def send(self, sending: Sending) -> SendResult:
        """Run the function. What it returns is the outcome's result; what it raises is told apart above."""
        call = _call_of(sending)
        try:
            result = await _run(self._tool.run, call, sending.body["arguments"])
        except ToolFailed as error:
            return Rejected(str(error))
        except ToolNotReady as error:
            return NotSent(str(error), retry_after_s=error.retry_after_s)
        return Delivered(receipt=sending.key, result=to_jsonable_python(result))

    async def lookup(self, sending: Sending) -> LookupResult:
        """Ask the tool's look-up; plain values mean that it was done."""
        if self._tool.lookup is None:
            return CannotTell("the tool has no look-up")
        found = await _run(self._tool.lookup, _call_of(sending), sending.body["arguments"])
        if isinstance(found, LookupResult):
            if isinstance(found, Succeeded):
                return Succeeded(to_jsonable_python(found.result), found.receipt)
            return found
        return CannotTell("the look-up returned neither Absent, Running, Succeeded, Failed nor Changed")

    async def close(self) -> None:
        """Nothing to free."""


def tool_adapters(agents: Mapping[str, Agent[Any]]) -> list[EffectAdapter]:
    """An adapter for each tool of each agent."""
    return [ToolAdapter(tool) for agent in agents.values() for tool in agent.tools.values()]


class AppFacts:
    """Looks again at facts through the agents' observers."""

    def __init__(self, agents: Mapping[str, Agent[Any]], store: Store) -> None:
        self._agents = agents
        self._store = store

    async def __call__(self, claim: Claimed) -> Moved | None:
        """None when all facts that the effect is bound to still hold."""
        agent = self._agents[claim.agent]
        row = await self._store.reads.session(SessionRef(claim.tenant, claim.session))
        if row is None:
            return None
        session = describe(agent, row["tenant"], row["session"], row["epoch"], row["record"] or new_record())
        moved: dict[str, Any] = {}
        for name, value in claim.effect.binds.items():
            now = await _run(agent.observers[name], session)
            if not patch.same(to_jsonable_python(now), value):
                moved[name] = to_jsonable_python(now)
        return Moved(moved) if moved else None


def _call_of(sending: Sending) -> ToolCall:
    return ToolCall(
        key=sending.key,
        session=sending.session,
        tenant=sending.tenant,
        attempt=sending.attempt,
        external_id=sending.external_id,
        mark_started=sending.started,
    )


async def _run(function: Callable[..., Any], first: Any, arguments: Mapping[str, Any] | None = None) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(first, **(arguments or {}))
    result = await asyncio.to_thread(function, first, **(arguments or {}))
    return await result if inspect.isawaitable(result) else result
