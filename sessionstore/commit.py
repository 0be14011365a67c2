"""The two kinds of commit. The closing commit is the only place where state, transcript, effects and waits appear."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sessionstore.effect import Claimed, Effect
from sessionstore.event import ReplyRoute
from sessionstore.leases import Lease, Receipt, StepRecord
from sessionstore.session import Status, Totals
from sessionstore.wait import Wait


@dataclass(frozen=True, slots=True)
class Entry:
    """A transcript event to append: its type and JSON body. The commit numbers it. `json` is the body's spelling,
    where it is known already."""

    type: str
    body: Mapping[str, Any]
    json: bytes = b""


@dataclass(frozen=True, slots=True)
class HandOver:
    """A relay in this process that takes new effects straight from the commit, already claimed and marked `sending`.

    Only for effects whose key is done once at the other side: if the process dies between the commit and the first
    byte, such a row is unknown although it was never sent, and sending it again under its key settles that.
    """

    effect_ids: frozenset[str]
    nonce: str
    ttl_s: float


@dataclass(frozen=True, slots=True)
class TurnCommit:
    """One turn's closing commit: everything or nothing, under the lease's fence and the head's version.

    `members` are the inbox positions that end with it; they become `settled`, or `dead` when `dead_reason` is set.
    `record` is the record after the turn, canonical JSON; `snapshot` asks for a full checkpoint.
    `run_id` is the open run after the turn, empty when it awaits no outcome.
    """

    lease: Lease
    version: int
    turn_id: str
    members: tuple[int, ...]
    first_seq: int
    entries: tuple[Entry, ...]
    record: bytes
    record_sha256: str
    status: Status
    totals: Totals
    run_id: str = ""
    effects: tuple[Effect, ...] = ()
    waits: tuple[Wait, ...] = ()
    close_waits: tuple[str, ...] = ()
    absorbed: tuple[int, ...] = ()
    reply_route: ReplyRoute | None = None
    dead_reason: str = ""
    snapshot: bool = False
    lease_ttl_s: float = 30.0
    journaled: bool = False  # a record commit was made for this turn
    hand_over: HandOver | None = None


@dataclass(frozen=True, slots=True)
class RecordCommit:
    """A step's result made durable before the turn closes. The first one pins turn id, members and agent version."""

    lease: Lease
    turn_id: str
    members: tuple[int, ...]
    agent_version: str
    steps: tuple[StepRecord, ...]


@dataclass(frozen=True, slots=True)
class Committed:
    """Durable. `next_pos` is the row to run next (0: none now), `next_due` when something becomes due later.

    `receipts` are effects that have ended since; the next closing commit absorbs them. `handed` are the new effects
    that were claimed for the turn's `hand_over`.
    """

    version: int
    seq: int
    next_pos: int
    next_due: float | None
    receipts: tuple[Receipt, ...] = ()
    handed: tuple[Claimed, ...] = ()


@dataclass(frozen=True, slots=True)
class AlreadyProcessed:
    """This very turn is committed; nothing was written again."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class FenceRefused:
    """Another owner has the session, or the lease ran out and was taken. Nothing was written."""

    fence: int


@dataclass(frozen=True, slots=True)
class VersionConflict:
    """The head moved on under the same owner. Nothing was written."""

    version: int


CommitResult = Committed | AlreadyProcessed | FenceRefused | VersionConflict


class SessionStore(Protocol):
    """Commits of turns, batched: at most one turn a session in a batch."""

    async def commit(self, batch: Sequence[TurnCommit]) -> list[CommitResult]:
        """Write several sessions' turns in one transaction; a refused one leaves no trace and disturbs no neighbour.

        On return every `Committed` is durable. Raises StoreError when the outcome is not known: read it back by
        committing the same turn again, which answers `AlreadyProcessed` where it had landed.
        """
        ...

    async def record(self, batch: Sequence[RecordCommit]) -> list[bool]:
        """Store steps' results, fenced; False where the fence refuses. Durable on return."""
        ...
