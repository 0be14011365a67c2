"""Taking a session over from a dead owner: the start is counted first, and a fence lost meanwhile is no failure."""

from concurrent.futures import Executor, Future
from dataclasses import replace
from random import Random
from typing import Any

from consumers.agent import Agent
from consumers.runner import Lost, Runner
from consumers.turn import Turn
from sessionstore.errors import FenceLost
from tests.unit.consumers.rows import loaded, row


class Refusing:
    """Leases of a session that somebody else has by now."""

    async def attempt(self, lease: Any, pos: int, *, due: float | None = None, error: str = "") -> int:
        raise FenceLost("another has it")


class Standing:
    def now(self) -> float:
        return 100.0

    def monotonic(self) -> float:
        return 100.0


class Unused(Executor):
    def submit(self, *args: Any, **kwargs: Any) -> "Future[Any]":
        raise AssertionError("nothing is to run")


async def test_a_session_that_has_another_owner_by_then_is_lost_and_its_handler_does_not_run() -> None:
    agent: Agent[Any] = Agent("a")

    @agent.on("message")
    async def never(turn: Turn[Any]) -> None:
        raise AssertionError("it runs elsewhere")

    unused: Any = None
    leases: Any = Refusing()
    runner = Runner({"a": agent}, unused, leases, unused, Standing(), Random(1), Unused())
    result = await runner.run(replace(loaded(), took_over=True), [row(1)])
    assert result == Lost("another has it")
