"""What a turn may decide on: replies, calls, questions, timers. Each leaves with the closing commit, or not at all."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from consumers.agent import Tool, name_of
from consumers.duration import seconds
from consumers.intents import AskIntent, CallIntent, Intent, Intents, ReplyIntent, TimerIntent
from sessionstore.errors import BadInput, NoRoute
from sessionstore.event import ReplyRoute

TEXT_MAX = 100_000
ACTIONS_MAX = 1_000


class TurnClosed(BadInput):
    """The turn is over: its deadline passed, or it has committed."""

    code = "turn_closed"


class Deciding:
    """The deciding half of a turn; `Turn` adds what it sees and what it notes."""

    def __init__(
        self,
        *,
        agent: str,
        now: datetime,
        route: ReplyRoute | None,
        tools: Mapping[str, Tool],
        inherited: tuple[str, ...] = (),
    ) -> None:
        self.now = now
        self.intents = Intents()
        self._agent = agent
        self._route = route
        self._tools = tools
        self._inherited = inherited
        self._closed = False

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
            raise BadInput(f"agent {self._agent!r} has no tool {name!r}", hint="declare it with @agent.tool")
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

    def close(self) -> None:
        """No more changes: called when the handler returned or its deadline passed."""
        self._closed = True

    def _add(self, intent: Intent) -> None:
        self._open()
        if len(self.intents.actions) >= ACTIONS_MAX:
            raise BadInput(f"a turn can decide on {ACTIONS_MAX} actions", hint="spread them over several turns")
        self.intents.actions.append(intent)

    def _open(self) -> None:
        if self._closed:
            raise TurnClosed("this turn is over", hint="what comes later belongs into a continuation or a timer")


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
