"""An event: something that happened, once; `(tenant, source, id)` names it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Final

ReplyRoute = Mapping[str, Any]
"""Where a reply goes: `{"adapter": name, "lane": destination, ...address fields of that adapter}`."""


class Kind(StrEnum):
    """What an inbox row asks of its session."""

    MESSAGE = "message"  # from a person or an outside system
    CRON = "cron"
    TIMER = "timer"
    ANSWER = "answer"  # a question's answer, or its expiry
    OUTCOME = "outcome"  # how an effect ended
    COMMAND = "command"  # an operator's


ARRIVING: Final = frozenset({Kind.MESSAGE, Kind.CRON, Kind.COMMAND})


class Rank(IntEnum):
    """Order of rows in a session: commands, then the open run's rows, then the rest."""

    COMMAND = 0
    RUN = 1
    REST = 2


@dataclass(frozen=True, slots=True)
class Event:
    """CloudEvents names, plus the session's key and the route that a reply takes.

    `data` is JSON-able. `time` is when the source says it happened, in unix seconds.
    `reply_route` is None for events that nobody can be answered on (then replies stay in the transcript).
    """

    tenant: str
    source: str
    id: str
    type: str
    session: str
    agent: str
    data: Any = None
    time: float = 0.0
    kind: Kind = Kind.MESSAGE
    rank: Rank = Rank.REST
    subject: str = ""
    sender: str = ""
    reply_route: ReplyRoute | None = None
    due: float = 0.0  # not before; unix seconds
    trace: str = ""
    policy: str = ""  # policy key of the sender, apart from the transcript's key
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The human-readable part, where there is one."""
        if isinstance(self.data, Mapping):
            text = self.data.get("text", "")
            return text if isinstance(text, str) else ""
        return self.data if isinstance(self.data, str) else ""
