"""The inbox: events made durable and deduplicated, in the order in which a session will see them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from sessionstore.event import Event


class RowStatus(StrEnum):
    """Where an accepted event stands. Held back, due later and running are all `queued`: they have not ended."""

    QUEUED = "queued"
    SETTLED = "settled"
    DEAD = "dead"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class NewRow:
    """An event to put; `body_hash` tells a repeat from another body under the same id.

    `dropped` is the reason where admission refused it: then the row is kept, with its reason, and nothing runs.
    `shared` asks for a line in `received`, which makes the first routing of an id stick; doors set it, internal
    events do not.
    """

    event: Event
    body_hash: bytes = b""
    dropped: str = ""
    shared: bool = True


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A stored event. `pos` orders rows inside a session; `size` is the stored body's bytes."""

    pos: int
    event: Event
    received_at: float
    epoch: int
    due: float = 0.0
    size: int = 0


@dataclass(frozen=True, slots=True)
class Accepted:
    """Durable now. `previous` is the position of the session's row before this one (0: none): a gap in what a reader
    of notifications has seen shows by it."""

    row: InboxRow
    previous: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """It was here already; nothing was written. `session` is the one that the first arrival went to."""

    session: str
    pos: int
    status: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Stored with its reason; it will not run."""

    pos: int
    reason: str


@dataclass(frozen=True, slots=True)
class BodyConflict:
    """The id is taken by another body; nothing was written but a line in the audit trail."""

    session: str


@dataclass(frozen=True, slots=True)
class Archived:
    """The session takes no more messages; the row is kept as dropped."""

    session: str


PutResult = Accepted | Duplicate | Dropped | BodyConflict | Archived


@dataclass(frozen=True, slots=True)
class SessionRef:
    """A session, by tenant and key."""

    tenant: str
    session: str


class Inbox(Protocol):
    """Durable, deduplicated arrival of events."""

    async def put(self, rows: Sequence[NewRow]) -> list[PutResult]:
        """Store the rows in one transaction; on return each accepted one is durable. Same order as given."""
        ...

    async def queued(self, ref: SessionRef, limit: int) -> list[InboxRow]:
        """The session's rows that may run now or later, in running order."""
        ...

    async def runnable(self, agents: Collection[str], limit: int) -> list[SessionRef]:
        """Sessions of these agents with a row due now and no live lease, longest due first; `limit` a tenant."""
        ...
