"""A turn under way: dispatch, the handler under its deadline, the facts that its questions are bound to."""

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import orjson

from consumers.agent import Agent
from consumers.asking import asked_again, was_asked_again
from consumers.compose import Composed, compose
from consumers.dispatch import Dispatch, NoHandler, dispatch
from consumers.drafting import TurnMeta
from consumers.intents import Intents
from consumers.loaded import Loaded
from consumers.session import Session
from consumers.state import describe, plain_state, state_from
from consumers.steps import Steps
from consumers.turn import Turn
from sessionstore.artifact import ArtifactStore
from sessionstore.deadlines import Deadlines
from sessionstore.errors import BadInput
from sessionstore.inbox import InboxRow
from sessionstore.leases import StepRecord


class Surroundings(Protocol):
    """What a turn under way needs of the runner that runs it."""

    @property
    def deadlines(self) -> Deadlines: ...

    @property
    def artifacts(self) -> ArtifactStore | None: ...

    def now(self) -> float:
        """The store's wall clock."""
        ...

    def meta(self, running: "Running", handler: str, seconds: float, approval: str) -> TurnMeta:
        """What compose needs to know besides the decisions."""
        ...

    async def record_step(self, running: "Running", step: StepRecord) -> bool:
        """Make a step durable, fenced."""
        ...

    async def question_of(self, wait_id: str) -> dict[str, Any] | None:
        """A wait as it was asked."""
        ...

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a synchronous function beside the event loop."""
        ...


class Running:
    """One turn under way."""

    def __init__(
        self,
        runner: Surroundings,
        loaded: Loaded,
        agent: Agent[Any],
        rows: Sequence[InboxRow],
        turn_id: str,
        attempt: int,
    ) -> None:
        self.runner = runner
        self.loaded = loaded
        self.agent = agent
        self.rows = rows
        self.turn_id = turn_id
        self.attempt = attempt
        journal = loaded.journal
        recorded = dict(journal.steps) if journal is not None and journal.turn_id == turn_id else {}
        self.steps = Steps(recorded, lambda step: runner.record_step(self, step))
        self.reply_to = rows[-1].event.reply_route or loaded.head.reply_route

    @property
    def journaled(self) -> bool:
        """Whether this turn has a journal to clear; one of another turn, which a command overtook, is kept."""
        journal = self.loaded.journal
        return self.steps.wrote or (journal is not None and journal.turn_id == self.turn_id)

    async def turn(self) -> Composed:
        """Dispatch, run the handler under its deadline, look at facts that questions are bound to, compose."""
        what = dispatch(self.agent, self.loaded.record, self.rows)
        if isinstance(what, NoHandler):
            return await self._without_handler(what)
        facts = {name: await self.observe(name) for name in what.binds}
        what = what.with_facts(facts)
        turn = self._turn(what, facts)
        started = time.perf_counter()
        try:
            async with self.runner.deadlines.within(self.agent.timeout_s) as deadline:
                await self._call(what.handler, turn, *what.arguments)
            if deadline.expired:
                raise TimeoutError("the handler went on after its deadline; nothing of it was kept")
        finally:
            turn.close()
        seconds = time.perf_counter() - started
        await self._observe_bound(turn.intents)
        state = plain_state(self.agent, turn.state)
        meta = self.runner.meta(self, what.name, seconds, what.approval)
        return self._composed(meta, turn.intents, state)

    async def observe(self, name: str) -> Any:
        """Look at a fact through the agent's observer."""
        observer = self.agent.observers.get(name)
        if observer is None:
            raise BadInput(
                f"agent {self.agent.name!r} has no observer of {name!r}",
                hint=f"declare one with @agent.observer({name!r})",
            )
        value = await self._call(observer, self._described(None))
        return orjson.loads(orjson.dumps(value))

    def _turn(self, what: Dispatch, facts: dict[str, Any]) -> Turn[Any]:
        state = state_from(self.agent, self.loaded.record["state"])
        turn = Turn(
            session=self._described(state),
            state=state,
            events=[row.event for row in self.rows],
            turn_id=self.turn_id,
            attempt=self.attempt,
            now=self.runner.now(),
            route=self.reply_to,
            steps=self.steps,
            tools=self.agent.tools,
            observe=self.observe,
            inherited=tuple(what.binds) if what.approval else (),
        )
        turn.intents.observed.update(facts)
        self.steps.attach(turn.intents)
        turn.keep_in(self.runner.artifacts, self.loaded.record)
        return turn

    async def _without_handler(self, what: NoHandler) -> Composed:
        intents = Intents(note=what.reason, observed=dict(what.facts))
        if what.ask_again and not was_asked_again(self.loaded.record, what.ask_again):
            wait = await self.runner.question_of(what.ask_again)
            if wait is not None:
                intents.actions.append(asked_again(wait, what.facts))
        meta = self.runner.meta(self, "", 0.0, "")
        return self._composed(meta, intents, None)

    def _composed(self, meta: TurnMeta, intents: Intents, state: Any) -> Composed:
        try:
            return compose(self.loaded, self.rows, meta, intents, state)
        except TypeError as error:
            raise unstorable(error) from error

    async def _observe_bound(self, intents: Intents) -> None:
        known = {**self.loaded.record["observation"]["facts"], **intents.observed}
        for action in intents.actions:
            for name in getattr(action, "binds", ()):
                if name not in known:
                    known[name] = intents.observed[name] = await self.observe(name)

    async def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(*args)
        result = await self.runner.in_thread(function, *args)
        return await result if inspect.isawaitable(result) else result

    def _described(self, state: Any) -> Session[Any]:
        head = self.loaded.head
        return describe(self.agent, head.tenant, head.session, head.epoch, self.loaded.record, state=state)


def unstorable(error: TypeError) -> BadInput:
    text = f"this turn decided on something that cannot be stored: {error}"
    return BadInput(text, hint="pass plain data to calls, questions and timers")


def kept_route(loaded: Loaded, rows: Sequence[InboxRow]) -> Any:
    """The session's route afterwards: only an admitted inbound message changes it, never an internal event."""
    for row in reversed(rows):
        if row.event.kind == "message" and row.event.reply_route is not None:
            return row.event.reply_route
    return loaded.head.reply_route
