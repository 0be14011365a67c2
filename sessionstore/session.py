"""A session's head: identity, status and the numbers that guard its commits."""

from dataclasses import dataclass
from enum import StrEnum

from sessionstore.event import ReplyRoute


class Status(StrEnum):
    """A session's life. A message to a completed or failed one makes it active again."""

    ACTIVE = "active"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class Totals:
    """What a session has used so far. `seconds` is time in handlers, `cost` in the caller's own unit."""

    turns: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Head:
    """The session's row without its record.

    `version` grows by one with each closing commit; `seq` is the newest transcript number; `fence` grows with each
    takeover; `tail` is the newest inbox position. `attempt` counts starts of `attempt_pos` after a dead owner.
    """

    tenant: str
    session: str
    agent: str
    status: Status
    epoch: int
    version: int
    seq: int
    fence: int
    tail: int
    run_id: str
    last_turn: str
    attempt: int
    attempt_pos: int
    reply_route: ReplyRoute | None
    totals: Totals
    created_at: float
    updated_at: float
