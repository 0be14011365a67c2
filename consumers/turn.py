"""The turn: what a handler sees and decides. Nothing here is durable until the closing commit, except recorded steps.

A handler reads the event, changes `turn.state`, and says what should happen: replies, calls, questions, timers. All of
that leaves together with the state in one commit, or not at all. Only `step` reaches the store while the handler runs:
a step's result is recorded once and given back when the turn is run again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

from typing_extensions import TypeVar as DefaultedTypeVar

from consumers.agent import Tool
from consumers.keeping import Keeping
from consumers.message import Message, message_from
from consumers.session import Session
from sessionstore.event import Event, ReplyRoute

# `Turn` alone is the turn of an agent without a state model.
S = DefaultedTypeVar("S", default=dict[str, Any])
P = ParamSpec("P")
R = TypeVar("R")


class StepRunner(Protocol):
    """Runs a step, or gives its recorded result back."""

    async def run(self, function: Callable[..., Any], args: Any, kwargs: Any, key: str | None) -> Any: ...


class Turn(Keeping, Generic[S]):
    """One activation of a handler, for one event or one collected batch."""

    def __init__(
        self,
        *,
        session: Session[S],
        state: S,
        events: Sequence[Event],
        turn_id: str,
        attempt: int,
        now: float,
        route: ReplyRoute | None,
        steps: StepRunner,
        tools: Mapping[str, Tool],
        observe: Callable[[str], Awaitable[Any]],
        inherited: tuple[str, ...] = (),
    ) -> None:
        super().__init__(
            agent=session.agent,
            now=datetime.fromtimestamp(now, UTC),
            route=route,
            tools=tools,
            inherited=inherited,
        )
        self.session = session
        self.state = state
        self.event = events[-1]
        self.events = tuple(events)
        self.id = turn_id
        self.attempt = attempt
        self._steps = steps
        self._observe = observe

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of this turn, oldest first; more than one where the agent collects."""
        return tuple(message_from(event) for event in self.events)

    @property
    def message(self) -> Message:
        """The message; of a collected batch all texts joined by line breaks."""
        if len(self.events) == 1:
            return message_from(self.event)
        return Message("\n".join(e.text for e in self.events if e.text), self.event.sender, data=self.event.data)

    @property
    def facts(self) -> Mapping[str, Any]:
        """Facts by name, as last observed."""
        return {**self.session.facts, **self.intents.observed}

    @overload
    async def step(self, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    async def step(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def step(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run something that is safe to repeat, once: durable on return, and given back when the turn runs again.

        The key is the function's name and how often it was called in this turn.
        """
        self._open()
        return await self._steps.run(function, args, kwargs, None)

    async def step_as(self, key: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """`step` under a key of your own, for loops whose order may change."""
        self._open()
        return await self._steps.run(function, args, kwargs, key)

    async def observe(self, name: str) -> Any:
        """Look at a fact now, through its observer; recorded with this turn."""
        self._open()
        value = await self._observe(name)
        self.intents.observed[name] = value
        return value

    def goal(self, aim: str, *, acceptance: Sequence[str] = (), constraints: Sequence[str] = ()) -> None:
        """What this session is for."""
        goal = {"aim": aim, "acceptance": list(acceptance), "constraints": list(constraints)}
        self._note(goal=goal)

    def phase(self, name: str) -> None:
        """Where it stands, in a word."""
        self._note(phase=name)

    def plan_next(self, text: str) -> None:
        """What comes next, in a sentence."""
        self._note(plan_next=text)

    def usage(self, *, tokens: int = 0, cost: float = 0.0) -> None:
        """Count what this turn has used; adds up in the session's totals and the run's budget."""
        self._open()
        self.intents.tokens += tokens
        self.intents.cost += cost

    def complete(self, reason: str = "") -> None:
        """The session's work is done. A later message makes it active again."""
        self._end("completed", reason)

    def fail(self, reason: str) -> None:
        """The session's work cannot be done."""
        self._end("failed", reason)

    def _end(self, status: str, reason: str) -> None:
        self._open()
        self.intents.status, self.intents.reason = status, reason

    def _note(self, **noted: Any) -> None:
        self._open()
        self.intents.noted.update(noted)
