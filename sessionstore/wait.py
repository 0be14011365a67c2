"""A wait: what a session is waiting for, and which named continuation follows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sessionstore.event import ReplyRoute


class WaitStatus(StrEnum):
    """A wait ends once, by compare-and-set."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"
    VOID = "void"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Wait:
    """An open question or timer. `binds` are the facts, with values, that an approval holds for.

    It keeps the route that it was asked on: an answer from elsewhere does not redirect the reply.
    """

    wait_id: str
    kind: str  # approval | timer
    then: str
    question: str = ""
    options: tuple[str, ...] = ()
    binds: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None
    expires_at: float | None = None
    due: float | None = None
    priority: bool = False
    route: ReplyRoute | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """This answer won; its inbox row is durable."""

    wait_id: str
    session: str
    pos: int


@dataclass(frozen=True, slots=True)
class NotOpen:
    """Somebody or something was first; nothing was written."""

    wait_id: str
    session: str
    status: WaitStatus
    answer: Any
    answered_by: str


@dataclass(frozen=True, slots=True)
class NoSuchWait:
    """No wait has that id."""

    wait_id: str


AnswerResult = Answered | NotOpen | NoSuchWait


@dataclass(frozen=True, slots=True)
class NewAnswer:
    """A person's answer. `answer` is JSON; for an approval `approved` or `rejected`."""

    wait_id: str
    answer: Any
    by: str
    note: str = ""
    event_id: str = ""
