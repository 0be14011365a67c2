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


@dataclass(frozen=True, slots=True)
class Pressure:
    """What waits right now, all tenants together; each number comes from an index, so it may be asked often.

    Times are unix seconds, None when nothing is due. `effects_due` counts heads of lanes.
    """

    sessions_due: int
    oldest_session_due: float | None
    effects_due: int
    oldest_effect_due: float | None
    waits_open: int
    dead: int


class Reads(Protocol):
    """Queries; all times are unix seconds, all keys plain text."""

    async def sessions(
        self,
        tenant: str | None,
        *,
        query: str = "",
        limit: int = 100,
        before: float | None = None,
        before_key: str = "",
    ) -> list[dict[str, Any]]:
        """Heads, newest change first, then by key downwards; `query` is a part of the key.

        `before` and `before_key` are the last row's `updated_at` and `session`: so no page skips or repeats sessions
        that changed in one instant. Without `before_key` the whole instant `before` is left out.
        """
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

    async def newest_seqs(self, refs: Sequence[SessionRef]) -> dict[SessionRef, int]:
        """The newest transcript numbers of many sessions in one query; unknown sessions are left out."""
        ...

    async def last_texts(self, tenant: str, sessions: Sequence[str]) -> dict[str, str]:
        """By session, the text of its newest message in either direction, where that has one."""
        ...

    async def effects(
        self, tenant: str | None, *, session: str | None = None, states: Sequence[str] = (), limit: int = 100
    ) -> list[dict[str, Any]]:
        """Outbox rows, newest first."""
        ...

    async def effect(self, effect_id: str) -> dict[str, Any] | None:
        """One outbox row."""
        ...

    async def effect_states(self, effect_ids: Sequence[str]) -> dict[str, str]:
        """States by effect id; unknown ids are left out."""
        ...

    async def waits(
        self, tenant: str | None, *, session: str | None = None, status: str = "open", kind: str = "", limit: int = 100
    ) -> list[dict[str, Any]]:
        """Questions (`approval`) and timers (`timer`): open ones oldest first, else newest first; "" means any."""
        ...

    async def dead(self, tenant: str | None, *, limit: int = 100) -> list[dict[str, Any]]:
        """Dead letters, newest first; `raw` is bytes."""
        ...

    async def dead_letter(self, dead_id: str) -> dict[str, Any] | None:
        """One dead letter."""
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

    async def pressure(self) -> Pressure:
        """What is due and has not been taken, and what waits for people."""
        ...

    async def gaps(self, tenant: str | None) -> list[dict[str, Any]]:
        """Sessions whose transcript's numbers are not 1..seq."""
        ...

    async def record(self, ref: SessionRef) -> tuple[int, bytes, str] | None:
        """The newest record: its seq, canonical JSON and checksum."""
        ...

    async def artifact_refs(self, ref: SessionRef, *, limit: int = 10_000) -> list[dict[str, Any]]:
        """Which artifacts a session's transcript, record and checkpoints refer to: `digest` and `seq`, oldest first."""
        ...

    async def referenced(self, digests: Sequence[str]) -> set[str]:
        """Those of the digests that any session of any tenant refers to."""
        ...

    async def checkpoint(self, ref: SessionRef, at_or_before: int) -> tuple[int, bytes, str] | None:
        """The newest full checkpoint up to a seq."""
        ...
