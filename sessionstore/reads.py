"""What people and tools look at: plain data, from one snapshot per call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sessionstore.inbox import SessionRef


@dataclass(frozen=True, slots=True)
class Balance:
    """One side of the conservation of things: what was counted, and where the rows stand.

    `counted` comes from the counters, `rows` from the rows themselves by state; `pruned` is what retention removed.
    """

    name: str
    counted: int
    rows: dict[str, int]
    pruned: int = 0

    @property
    def missing(self) -> int:
        """Rows that should be there and are not (negative: rows that nobody counted)."""
        return self.counted - self.pruned - sum(self.rows.values())


class Reads(Protocol):
    """Queries; all times are unix seconds, all keys plain text."""

    async def sessions(
        self, tenant: str | None, *, query: str = "", limit: int = 100, before: float | None = None
    ) -> list[dict[str, Any]]:
        """Heads, newest change first; `query` is a part of the key."""
        ...

    async def session(self, ref: SessionRef) -> dict[str, Any] | None:
        """Head, record and lease of one, with its queued rows and open waits."""
        ...

    async def transcript(self, ref: SessionRef, *, after: int = 0, limit: int = 200) -> list[dict[str, Any]]:
        """Transcript events from `after` on, oldest first."""
        ...

    async def newest_seq(self, ref: SessionRef) -> int:
        """The newest transcript number, 0 for an unknown session."""
        ...

    async def effects(
        self, tenant: str | None, *, session: str | None = None, states: Sequence[str] = (), limit: int = 100
    ) -> list[dict[str, Any]]:
        """Outbox rows, newest first."""
        ...

    async def effect(self, effect_id: str) -> dict[str, Any] | None:
        """One outbox row."""
        ...

    async def waits(
        self, tenant: str | None, *, session: str | None = None, status: str = "open", limit: int = 100
    ) -> list[dict[str, Any]]:
        """Questions and timers, oldest first; status "" means any."""
        ...

    async def dead(self, tenant: str | None, *, limit: int = 100) -> list[dict[str, Any]]:
        """Dead letters, newest first; `raw` is bytes."""
        ...

    async def dropped(self, tenant: str | None, *, event_id: str = "", limit: int = 100) -> list[dict[str, Any]]:
        """Events that admission refused, with the reason."""
        ...

    async def trail(self, *, limit: int = 100) -> list[dict[str, Any]]:
        """The audit trail, newest first."""
        ...

    async def balances(
        self, tenant: str | None, *, since_hour: int | None = None, until_hour: int | None = None
    ) -> list[Balance]:
        """Accepted events and intended effects, counters against rows; hours since the epoch, UTC."""
        ...

    async def gaps(self, tenant: str | None) -> list[dict[str, Any]]:
        """Sessions whose transcript's numbers are not 1..seq."""
        ...

    async def record(self, ref: SessionRef) -> tuple[int, bytes, str] | None:
        """The newest record: its seq, canonical JSON and checksum."""
        ...

    async def checkpoint(self, ref: SessionRef, at_or_before: int) -> tuple[int, bytes, str] | None:
        """The newest full checkpoint up to a seq."""
        ...
