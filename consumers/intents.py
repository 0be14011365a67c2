"""What a turn has decided so far: collected by the SDK, turned into a commit by compose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from consumers.kept import Kept
from sessionstore.event import ReplyRoute


@dataclass(frozen=True, slots=True)
class ReplyIntent:
    """Say something on a route; without a route it stays in the transcript."""

    text: str
    route: ReplyRoute | None
    then: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallIntent:
    """Have an adapter do something; `binds` are names of facts that must still hold."""

    adapter: str
    target: Mapping[str, Any]
    body: Mapping[str, Any]
    lane: str
    summary: str
    then: str
    binds: tuple[str, ...] = ()
    ttl_s: float | None = None
    on_unknown: str = "ask"
    tool: str = ""


@dataclass(frozen=True, slots=True)
class AskIntent:
    """A question; answered from the chat, the console, the API or the command line."""

    question: str
    then: str
    binds: tuple[str, ...]
    options: tuple[str, ...]
    expires_s: float | None
    priority: bool
    route: ReplyRoute | None
    data: Any = None
    binds_to: Mapping[str, Any] | None = None  # asked again: bound to these values
    again_of: str = ""  # the void question that this one stands for


@dataclass(frozen=True, slots=True)
class TimerIntent:
    """Wake this session up later."""

    due: float
    then: str
    data: Any


Intent = ReplyIntent | CallIntent | AskIntent | TimerIntent


@dataclass(slots=True)
class Intents:
    """Everything that one run of a handler has decided, in order."""

    actions: list[Intent] = field(default_factory=list)
    noted: dict[str, Any] = field(default_factory=dict)
    observed: dict[str, Any] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)
    tokens: int = 0
    cost: float = 0.0
    status: str = ""
    reason: str = ""
    kept: Kept | None = None  # artifacts and workspace, once the turn has asked for them
    note: str = ""  # said in the transcript when no handler ran
