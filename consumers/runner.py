"""The runner: one turn from its inbox rows to its closing commit.

It decides nothing about order and holds no lease: the scheduler gives it a loaded session and the rows, and it gives
back what became of them. Everything that a handler can do wrong ends here as a value.
"""

import asyncio
import inspect
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import orjson
import structlog

from consumers.agent import Agent, QueuePolicy
from consumers.asking import asked_again, was_asked_again
from consumers.compose import Composed, TurnMeta, compose, turn_id_for
from consumers.courier import Courier, NoCourier
from consumers.dispatch import Dispatch, NoHandler, dispatch
from consumers.intents import Intents, ReplyIntent
from consumers.loaded import Loaded, after_commit
from consumers.state import describe, plain_state, state_from
from consumers.steps import Steps
from consumers.turn import Session, Turn
from sessionstore.clock import Clock
from sessionstore.commit import (
    AlreadyProcessed,
    Committed,
    FenceRefused,
    RecordCommit,
    SessionStore,
    VersionConflict,
)
from sessionstore.deadlines import Deadlines
from sessionstore.errors import BadInput, FenceLost
from sessionstore.inbox import InboxRow
from sessionstore.leases import RowLeases, StepRecord
from sessionstore.timer import Waits

log = structlog.get_logger(__name__)

ERROR_LENGTH_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Done:
    """Committed; `loaded` is the session now, `next_pos` the row to run next (0: none now)."""

    loaded: Loaded
    next_pos: int
    next_due: float | None


@dataclass(frozen=True, slots=True)
class PutOff:
    """The handler failed; the rows are due again then (unix seconds)."""

    due: float


@dataclass(frozen=True, slots=True)
class Lost:
    """The session has another owner: forget it. Nothing of this turn is left."""

    reason: str


TurnResult = Done | PutOff | Lost


class Runner:
    """Runs turns of the app's agents."""

    def __init__(
        self,
        agents: Mapping[str, Agent[Any]],
        commits: SessionStore,
        leases: RowLeases,
        waits: Waits,
        clock: Clock,
        random: Random,
        threads: Executor,
        *,
        courier: Courier | None = None,
        lease_ttl_s: float = 30.0,
    ) -> None:
        self._courier = courier or NoCourier()
        self.deadlines = Deadlines()
        self._agents = agents
        self._commits = commits
        self._leases = leases
        self._waits = waits
        self._clock = clock
        self._random = random
        self._threads = threads
        self._lease_ttl_s = lease_ttl_s

    @property
    def agents(self) -> Collection[str]:
        """Names of the agents of this worker's app."""
        return self._agents.keys()

    def knows(self, agent: str) -> bool:
        """Whether this worker's app has the agent; a session of another is left to a worker that does."""
        return agent in self._agents

    def policy(self, agent: str) -> QueuePolicy:
        """What a second message does."""
        return self._agents[agent].queue

    async def run(self, loaded: Loaded, rows: Sequence[InboxRow]) -> TurnResult:
        """One turn over `rows`: all of one kind of event, in order. Durable when it returns Done."""
        agent = self._agents[loaded.head.agent]
        turn_id = turn_id_for(loaded, rows[0])
        try:
            attempt = await self._attempt(loaded, rows[0], turn_id)
        except FenceLost as error:
            return Lost(str(error))
        if attempt > agent.failure.attempts_max:
            return await self._give_up(loaded, agent, rows, turn_id, attempt, "its worker died each time")
        running = _Running(self, loaded, agent, rows, turn_id, attempt)
        try:
            composed = await running.turn()
        except FenceLost as error:
            return Lost(str(error))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Nobody cancelled this turn: the handler awaited something that was cancelled.
            return await self._failed(running, error)
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            return await self._failed(running, error)
        try:
            return await self.commit(loaded, composed)
        except TypeError as error:
            # Something in the turn is not JSON. Nothing was written, and it would be the same again.
            return await self._failed(running, _unstorable(error))

    async def commit(self, loaded: Loaded, composed: Composed) -> TurnResult:
        """Write it. When the outcome is not known, the same commit is asked again: it answers what happened."""
        turn = composed.commit
        if turn.effects:
            turn = replace(turn, hand_over=self._courier.hand_over(turn.effects))
        [result] = await self._commits.commit([turn])
        match result:
            case Committed():
                now = self._clock.now()
                if result.handed:
                    self._courier.take(result.handed)
                return Done(after_commit(loaded, turn, composed.record, result, now), result.next_pos, result.next_due)
            case AlreadyProcessed():
                return Lost("this turn was committed before; the session is loaded afresh")
            case FenceRefused(fence=fence):
                log.warning("turn.fence_refused", session=loaded.head.session, turn=turn.turn_id, fence=fence)
                return Lost("another worker has this session")
            case VersionConflict():
                return Lost("the session moved on; it is loaded afresh")

    async def _attempt(self, loaded: Loaded, first: InboxRow, turn_id: str) -> int:
        """Which start this is. After a dead owner it is written before the handler starts, so that an event that kills
        its worker is counted; the first start of all needs no write."""
        head = loaded.head
        earlier = head.attempt if head.attempt_pos == first.pos else 0
        if not loaded.took_over:
            return earlier + 1
        log.info("turn.taken_over", session=head.session, turn=turn_id, attempts=earlier)
        return await self._leases.attempt(loaded.lease, first.pos, error="its worker died or was stopped")

    async def _failed(self, running: "_Running", error: BaseException) -> TurnResult:
        loaded, rows, agent = running.loaded, running.rows, running.agent
        text = f"{type(error).__name__}: {error}"[:ERROR_LENGTH_MAX]
        if isinstance(error, TimeoutError) and not str(error):
            text = f"the handler did not end within {agent.timeout_s:g} s"
        log.warning(
            "turn.failed",
            session=loaded.head.session,
            turn=running.turn_id,
            attempt=running.attempt,
            error=text,
            exc_info=not isinstance(error, BadInput),
        )
        # A handler that asks for something impossible will ask again: no use in trying it five times.
        hopeless = isinstance(error, BadInput)
        if hopeless or running.attempt >= agent.failure.attempts_max:
            return await self._give_up(loaded, agent, rows, running.turn_id, running.attempt, text, running.journaled)
        delay = min(agent.failure.backoff_s * 2 ** (running.attempt - 1), agent.failure.backoff_max_s)
        due = self._clock.now() + delay * self._random.uniform(0.5, 1.0)
        try:
            await self._leases.attempt(loaded.lease, rows[0].pos, due=due, error=text)
        except FenceLost as lost:
            return Lost(str(lost))
        return PutOff(due)

    async def _give_up(
        self,
        loaded: Loaded,
        agent: Agent[Any],
        rows: Sequence[InboxRow],
        turn_id: str,
        attempt: int,
        error: str,
        journaled: bool = True,
    ) -> TurnResult:
        route = rows[-1].event.reply_route
        intents = Intents()
        if agent.failure.notice and route is not None:
            intents.actions.append(ReplyIntent(agent.failure.notice, route))
        meta = TurnMeta(
            turn_id=turn_id,
            handler="",
            agent_version=agent.version,
            attempt=attempt,
            now=self._clock.now(),
            seconds=0.0,
            route=kept_route(loaded, rows),
            reply_to=route,
            journaled=journaled,
            lease_ttl_s=self._lease_ttl_s,
            failure=error,
            dead=True,
        )
        log.error("turn.given_up", session=loaded.head.session, turn=turn_id, attempts=attempt, error=error)
        return await self.commit(loaded, compose(loaded, rows, meta, intents, None))

    async def record_step(self, running: "_Running", step: StepRecord) -> bool:
        """Make a step durable, fenced; the first one pins the turn."""
        members = tuple(row.pos for row in running.rows)
        commit = RecordCommit(running.loaded.lease, running.turn_id, members, running.agent.version, (step,))
        [kept] = await self._commits.record([commit])
        return kept

    def now(self) -> float:
        """The store's wall clock."""
        return self._clock.now()

    async def question_of(self, wait_id: str) -> dict[str, Any] | None:
        """A wait as it was asked."""
        return await self._waits.get(wait_id)

    async def in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a synchronous handler beside the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, lambda: function(*args))

    def meta(self, running: "_Running", handler: str, seconds: float, approval: str) -> TurnMeta:
        """What compose needs to know besides the decisions."""
        return TurnMeta(
            turn_id=running.turn_id,
            handler=handler,
            agent_version=running.agent.version,
            attempt=running.attempt,
            now=self._clock.now(),
            seconds=seconds,
            route=kept_route(running.loaded, running.rows),
            reply_to=running.reply_to,
            journaled=running.journaled,
            lease_ttl_s=self._lease_ttl_s,
            approval=approval,
        )


class _Running:
    """One turn under way."""

    def __init__(
        self,
        runner: Runner,
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
            raise _unstorable(error) from error

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


def _unstorable(error: TypeError) -> BadInput:
    text = f"this turn decided on something that cannot be stored: {error}"
    return BadInput(text, hint="pass plain data to calls, questions and timers")


def kept_route(loaded: Loaded, rows: Sequence[InboxRow]) -> Any:
    """The session's route afterwards: only an admitted inbound message changes it, never an internal event."""
    for row in reversed(rows):
        if row.event.kind == "message" and row.event.reply_route is not None:
            return row.event.reply_route
    return loaded.head.reply_route
