"""An agent: its handlers, continuations, tools, observers and jobs, by name."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

from pydantic import BaseModel
from typing_extensions import TypeVar as DefaultedTypeVar

from outbox.adapter import EffectAdapter
from sessionstore.errors import BadSettings

S = DefaultedTypeVar("S", default=dict[str, Any])
F = TypeVar("F", bound=Callable[..., Any])

TOOL_TIMEOUT_S = 300.0
TOOL_ATTEMPTS_MAX = 8
TURN_TIMEOUT_S = 300.0
ATTEMPTS_MAX = 5
CRON_GRACE_S = 60.0


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with a side effect, run by the relay. Its class decides what a crash leaves to do."""

    name: str
    agent: str
    run: Callable[..., Any]
    lookup: Callable[..., Any] | None = None
    compensate: Callable[..., Any] | None = None
    idempotent: bool = False
    on_unknown: str = "ask"
    timeout_s: float = TOOL_TIMEOUT_S
    attempts_max: int = TOOL_ATTEMPTS_MAX

    def __post_init__(self) -> None:
        if self.on_unknown not in ("ask", "resend", "drop"):
            raise BadSettings(f"tool {self.name!r}: on_unknown {self.on_unknown!r}", hint="use ask, resend or drop")


class ToolOptions(TypedDict, total=False):
    """What `@agent.tool(...)` takes; the defaults are those of `Tool`."""

    lookup: Callable[..., Any]
    compensate: Callable[..., Any]
    idempotent: bool
    on_unknown: str
    timeout_s: float
    attempts_max: int


@dataclass(frozen=True, slots=True)
class Job:
    """A cron job declared in code."""

    name: str
    schedule: str
    tz: str
    handler: str
    misfire: str = "run_once"
    overlap: str = "queue"
    grace_s: float = CRON_GRACE_S
    session: str = ""


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """What a second message does: `followup` waits its turn; `collect` gathers messages into one turn.

    With `collect` a turn starts when no message came for `quiet_s`, at the latest `wait_max_s` after the first.
    """

    mode: str = "followup"
    quiet_s: float = 1.0
    wait_max_s: float = 10.0
    batch_max: int = 50

    def __post_init__(self) -> None:
        if self.mode not in ("followup", "collect"):
            raise BadSettings(f"queue policy {self.mode!r} is unknown", hint="use followup or collect")


@dataclass(frozen=True, slots=True)
class Failure:
    """What happens when a turn keeps failing: how often it is tried, and what is said."""

    attempts_max: int = ATTEMPTS_MAX
    backoff_s: float = 1.0
    backoff_max_s: float = 60.0
    notice: str = "Sorry, this could not be done. It has been set aside for a person to look at."


class Agent(Generic[S]):
    """Handlers by event type, and everything that a handler may name.

    `state` is a pydantic model whose fields all have defaults, or None for a plain dict. `version` is declared, not
    derived: raise it when what is in flight should be looked at with other eyes.
    """

    def __init__(
        self,
        name: str,
        *,
        state: type[S] | None = None,
        version: str = "1",
        queue: QueuePolicy | None = None,
        failure: Failure | None = None,
        timeout_s: float = TURN_TIMEOUT_S,
    ) -> None:
        if not name or not all(c.isalnum() or c in "-_" for c in name):
            raise BadSettings(f"agent name {name!r} is not usable", hint="letters, digits, - and _ only")
        self.name = name
        self.version = version
        self.queue = queue or QueuePolicy()
        self.failure = failure or Failure()
        self.timeout_s = timeout_s
        self.state_model = _checked_model(name, state)
        self.handlers: dict[str, Callable[..., Any]] = {}
        self.continuations: dict[str, Callable[..., Any]] = {}
        self.tools: dict[str, Tool] = {}
        self.observers: dict[str, Callable[..., Any]] = {}
        self.jobs: dict[str, Job] = {}

    def on(self, *types: str) -> Callable[[F], F]:
        """Handle events of these types; `message` is chat, `*` is what nothing else handles."""

        def register(function: F) -> F:
            for type_ in types:
                _once(self.handlers, type_, function, f"a handler for {type_!r}", self.name)
            return function

        return register

    def continuation(self, function: F) -> F:
        """A named continuation: what follows a wait. Its name is the cursor, so keep it when code moves."""
        _once(self.continuations, function.__name__, function, "a continuation of that name", self.name)
        return function

    def observer(self, name: str) -> Callable[[F], F]:
        """How to look at a fact again before resuming or acting."""

        def register(function: F) -> F:
            _once(self.observers, name, function, f"an observer of {name!r}", self.name)
            return function

        return register

    @overload
    def tool(self, function: F, /) -> F: ...

    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...

    def tool(self, function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
        """A function with a side effect, run by the relay after the commit.

        `idempotent` says that the same key is done once at the other side; `lookup` says how to find out; with
        neither, an unclear end goes by `on_unknown` (ask, resend or drop).
        """

        def register(run: Callable[..., Any]) -> Callable[..., Any]:
            tool = Tool(run.__name__, self.name, run, **options)
            _once(self.tools, tool.name, tool, "a tool of that name", self.name)
            return run

        return register if function is None else register(function)

    def cron(
        self,
        schedule: str,
        *,
        tz: str,
        name: str = "",
        misfire: str = "run_once",
        overlap: str = "queue",
        grace_s: float = CRON_GRACE_S,
        session: str = "",
    ) -> Callable[[F], F]:
        """Run at these times: five cron fields or an @alias, in a named time zone."""

        def register(function: F) -> F:
            job_name = name or function.__name__
            job = Job(job_name, schedule, tz, function.__name__, misfire, overlap, grace_s, session)
            _once(self.jobs, job_name, job, "a job of that name", self.name)
            self.handlers[f"cron.{job_name}"] = function
            return function

        return register

    def handler_for(self, type_: str) -> Callable[..., Any] | None:
        """The most specific handler: the type itself, then its prefixes (`github.*`), then `*`."""
        if type_ in self.handlers:
            return self.handlers[type_]
        parts = type_.split(".")
        names = [*(".".join(parts[:n]) + ".*" for n in range(len(parts) - 1, 0, -1)), "*"]
        return next((self.handlers[name] for name in names if name in self.handlers), None)


@dataclass(frozen=True, slots=True)
class App:
    """The agents of one process, and adapters beyond the built-in ones."""

    agents: Sequence[Agent[Any]] = ()
    adapters: Sequence[EffectAdapter] = field(default_factory=tuple)

    def by_name(self) -> Mapping[str, Agent[Any]]:
        """Agents by name. Raises BadSettings when two share one."""
        out: dict[str, Agent[Any]] = {}
        for agent in self.agents:
            if agent.name in out:
                raise BadSettings(f"two agents are called {agent.name!r}", hint="rename one")
            out[agent.name] = agent
        return out


def name_of(target: Callable[..., Any] | str) -> str:
    """A continuation's or tool's name, from the function or from the name itself."""
    return target if isinstance(target, str) else target.__name__


def _once(registry: dict[str, Any], key: str, value: Any, what: str, agent: str) -> None:
    if key in registry:
        raise BadSettings(f"agent {agent!r} has {what} already ({key})", hint="give one of them another name")
    registry[key] = value


def _checked_model(agent: str, state: type[S] | None) -> type[BaseModel] | None:
    if state is None:
        return None
    if not (inspect.isclass(state) and issubclass(state, BaseModel)):
        raise BadSettings(f"state of agent {agent!r} is not a pydantic model", hint="derive it from pydantic.BaseModel")
    required = [name for name, info in state.model_fields.items() if info.is_required()]
    if required:
        raise BadSettings(
            f"state of agent {agent!r} needs values for {', '.join(required)} before its first turn",
            hint="give every field a default",
        )
    return state
