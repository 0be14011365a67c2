"""The turn: what a handler sees and decides. Nothing here is durable until the closing commit, except recorded steps.

A handler reads the event, changes `turn.state`, and says what should happen: replies, calls, questions, timers. All of
that leaves together with the state in one commit, or not at all. Only `step` reaches the store while the handler runs:
a step's result is recorded once and given back when the turn is run again.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload
from urllib.parse import urlsplit

from typing_extensions import TypeVar as DefaultedTypeVar

from consumers.agent import Tool, name_of
from consumers.duration import seconds
from consumers.intents import AskIntent, CallIntent, Intents, ReplyIntent, TimerIntent
from sessionstore.errors import BadInput, NoRoute
from sessionstore.event import Event, ReplyRoute

# `Turn` alone is the turn of an agent without a state model.
S = DefaultedTypeVar("S", default=dict[str, Any])
P = ParamSpec("P")
R = TypeVar("R")

TEXT_MAX = 100_000
ACTIONS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Message:
    """A message as a handler sees it."""

    text: str
    sender: str = ""
    type: str = "message"
    data: Any = None
    id: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Session(Generic[S]):
    """The session as observers and handlers see it: identity, and the state at the last commit."""

    key: str
    agent: str
    tenant: str
    epoch: int
    status: str
    state: S
    facts: Mapping[str, Any] = field(default_factory=dict)


class StepRunner(Protocol):
    """Runs a step, or gives its recorded result back."""

    async def run(self, function: Callable[..., Any], args: Any, kwargs: Any, key: str | None) -> Any: ...


class TurnClosed(BadInput):
    """The turn is over: its deadline passed, or it has committed."""

    code = "turn_closed"


class Turn(Generic[S]):
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
        self.session = session
        self.state = state
        self.event = events[-1]
        self.events = tuple(events)
        self.id = turn_id
        self.attempt = attempt
        self.now = datetime.fromtimestamp(now, UTC)
        self.intents = Intents()
        self._route = route
        self._steps = steps
        self._tools = tools
        self._observe = observe
        self._inherited = inherited
        self._closed = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages of this turn, oldest first; more than one where the agent collects."""
        return tuple(_message(event) for event in self.events)

    @property
    def message(self) -> Message:
        """The message; of a collected batch all texts joined by line breaks."""
        if len(self.events) == 1:
            return _message(self.event)
        return Message("\n".join(e.text for e in self.events if e.text), self.event.sender, data=self.event.data)

    @property
    def facts(self) -> Mapping[str, Any]:
        """Facts by name, as last observed."""
        return {**self.session.facts, **self.intents.observed}

    def reply(self, text: str, *, then: Callable[..., Any] | str = "") -> None:
        """Say it where the event came from. Without a reply route it is kept in the transcript only."""
        self._add(ReplyIntent(_text(text), self._route, name_of(then) if then else ""))

    def send(self, text: str, to: ReplyRoute) -> None:
        """Say it somewhere else. This never changes where replies go. Raises NoRoute for an address without adapter."""
        if not to.get("adapter"):
            raise NoRoute("this address names no adapter", hint="give {'adapter': ..., 'lane': ..., ...}")
        self._add(ReplyIntent(_text(text), dict(to)))

    def ask(
        self,
        question: str,
        *,
        then: Callable[..., Any] | str,
        binds: Sequence[str] = (),
        expires: str | float | timedelta | None = None,
        options: Sequence[str] = ("approve", "reject"),
        priority: bool = False,
        data: Any = None,
    ) -> None:
        """Ask a person. The continuation gets a Decision; an approval holds only while the bound facts do."""
        expires_s = None if expires is None else seconds(expires)
        self._add(
            AskIntent(
                _text(question), name_of(then), tuple(binds), tuple(options), expires_s, priority, self._route, data
            )
        )

    def call(
        self,
        tool: Callable[..., Any] | str,
        *,
        then: Callable[..., Any] | str = "",
        binds: Sequence[str] | None = None,
        ttl: str | float | timedelta | None = None,
        lane: str = "",
        **arguments: Any,
    ) -> None:
        """Have a tool of this agent run, after the commit. With `then` its outcome comes back as an event.

        In the continuation of an approval the call is bound to the facts that the approval was bound to.
        """
        name = name_of(tool)
        known = self._tools.get(name)
        if known is None:
            raise BadInput(f"agent {self.session.agent!r} has no tool {name!r}", hint="declare it with @agent.tool")
        adapter = f"tool:{known.agent}.{name}"
        self._add(
            CallIntent(
                adapter=adapter,
                target={"tool": name},
                body={"arguments": arguments},
                lane=lane or adapter,
                summary=f"{name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"[:200],
                then=name_of(then) if then else "",
                binds=self._inherited if binds is None else tuple(binds),
                ttl_s=None if ttl is None else seconds(ttl),
                on_unknown=known.on_unknown,
                tool=name,
            )
        )

    def request(
        self,
        endpoint: str,
        body: Mapping[str, Any],
        *,
        adapter: str = "webhook",
        then: Callable[..., Any] | str = "",
        binds: Sequence[str] | None = None,
        ttl: str | float | timedelta | None = None,
        on_unknown: str = "ask",
    ) -> None:
        """Post a JSON object to a configured endpoint, signed. Its receiver does one key once, unless told otherwise.

        `adapter` names another adapter whose targets are endpoints.
        """
        self._add(
            CallIntent(
                adapter=adapter,
                target={"endpoint": endpoint},
                body=body,
                lane=f"{adapter}:{endpoint}",
                summary=f"{adapter} to {endpoint}",
                then=name_of(then) if then else "",
                binds=self._inherited if binds is None else tuple(binds),
                ttl_s=None if ttl is None else seconds(ttl),
                on_unknown=on_unknown,
            )
        )

    def http(
        self,
        method: str,
        url: str,
        *,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        lookup: Mapping[str, Any] | None = None,
        then: Callable[..., Any] | str = "",
        binds: Sequence[str] | None = None,
        ttl: str | float | timedelta | None = None,
        on_unknown: str = "ask",
    ) -> None:
        """Have one HTTP request made, with an `Idempotency-Key`; credentials come from the settings, by origin.

        `lookup` says where it can be asked whether it was done: `{"url": ".../{key}", "field": "status"}` and the
        words that mean succeeded, running and failed. The outcome's result holds status, headers, and `json` or `text`.
        """
        target: dict[str, Any] = {"url": url} if lookup is None else {"url": url, "lookup": dict(lookup)}
        body: dict[str, Any] = {"method": method, "headers": dict(headers or {})}
        self._add(
            CallIntent(
                adapter="http",
                target=target,
                body=body if json is None else {**body, "json": json},
                lane=f"http:{_server(url)}",
                summary=f"{method} {url}"[:200],
                then=name_of(then) if then else "",
                binds=self._inherited if binds is None else tuple(binds),
                ttl_s=None if ttl is None else seconds(ttl),
                on_unknown=on_unknown,
            )
        )

    def schedule(
        self, when: str | float | timedelta | datetime, *, then: Callable[..., Any] | str, data: Any = None
    ) -> None:
        """Wake this session at a time, or after a duration such as "90s", "2h", or seconds."""
        if isinstance(when, datetime):
            if when.tzinfo is None:
                raise BadInput("a time without a zone means nothing here", hint="use datetime.now(UTC) and the like")
            due = when.timestamp()
        else:
            due = self.now.timestamp() + seconds(when)
        self._add(TimerIntent(due, name_of(then), data))

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

    def close(self) -> None:
        """No more changes: called when the handler returned or its deadline passed."""
        self._closed = True

    def _end(self, status: str, reason: str) -> None:
        self._open()
        self.intents.status, self.intents.reason = status, reason

    def _note(self, **noted: Any) -> None:
        self._open()
        self.intents.noted.update(noted)

    def _add(self, intent: ReplyIntent | CallIntent | AskIntent | TimerIntent) -> None:
        self._open()
        if len(self.intents.actions) >= ACTIONS_MAX:
            raise BadInput(f"a turn can decide on {ACTIONS_MAX} actions", hint="spread them over several turns")
        self.intents.actions.append(intent)

    def _open(self) -> None:
        if self._closed:
            raise TurnClosed("this turn is over", hint="what comes later belongs into a continuation or a timer")


def _message(event: Event) -> Message:
    return Message(event.text, event.sender, event.type, event.data, event.id, event.source)


def _server(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError as error:
        raise BadInput(f"the URL cannot be read: {error}", hint="give an absolute http or https URL") from error


def _text(text: str) -> str:
    if not isinstance(text, str):
        raise BadInput(f"a text is expected, not {type(text).__name__}", hint="convert it with str()")
    if len(text) > TEXT_MAX:
        raise BadInput(f"the text has {len(text)} characters, {TEXT_MAX} fit", hint="store it as an artifact")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput("the text holds half of a surrogate pair", hint="decode it as UTF-16 first") from error
    return text
