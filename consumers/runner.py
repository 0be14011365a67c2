"""The runner: one turn from its inbox rows to its closing commit.

It decides nothing about order and holds no lease: the scheduler gives it a loaded session and the rows, and it gives
back what became of them. Everything that a handler can do wrong ends here as a value.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Protocol

import structlog

from consumers.agent import Agent, QueuePolicy
from consumers.compose import Composed, compose
from consumers.courier import Courier, NoCourier
from consumers.drafting import TurnMeta, turn_id_for
from consumers.intents import Intents, ReplyIntent
from consumers.loaded import Loaded, after_commit
from consumers.running import Running, kept_route, unstorable
from sessionstore.artifact import ArtifactStore
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
from sessionstore.leases import Lease, StepRecord

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


class Attempts(Protocol):
    """The part of `RowLeases` that counts starts."""

    async def attempt(self, lease: Lease, pos: int, *, due: float | None = None, error: str = "") -> int:
        """See `RowLeases.attempt`."""
        ...


class Questions(Protocol):
    """The part of `Waits` that gives a question back."""

    async def get(self, wait_id: str) -> dict[str, Any] | None:
        """See `Waits.get`."""
        ...


class Runner:
    """Runs turns of the app's agents."""

    def __init__(
        self,
        agents: Mapping[str, Agent[Any]],
        commits: SessionStore,
        leases: Attempts,
        waits: Questions,
        clock: Clock,
        random: Random,
        threads: Executor,
        *,
        courier: Courier | None = None,
        artifacts: ArtifactStore | None = None,
        lease_ttl_s: float = 30.0,
    ) -> None:
        self._courier = courier or NoCourier()
        self.deadlines = Deadlines()
        self.artifacts = artifacts
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
        running = Running(self, loaded, agent, rows, turn_id, attempt)
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
            return await self._failed(running, unstorable(error))

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

    async def _failed(self, running: Running, error: BaseException) -> TurnResult:
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

    async def record_step(self, running: Running, step: StepRecord) -> bool:
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

    def meta(self, running: Running, handler: str, seconds: float, approval: str) -> TurnMeta:
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
