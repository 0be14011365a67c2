"""What operators do to rows: each is one transaction and leaves a line in the audit trail."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sessionstore.inbox import SessionRef


@dataclass(frozen=True, slots=True)
class TrailLine:
    """Who did, or tried to do, what to what."""

    tenant: str
    actor: str
    action: str
    target: str
    detail: str = ""


class Operations(Protocol):
    """Operator actions on stored rows. Raise NotFound and Conflict with what to do instead."""

    async def redrive(self, dead_id: str, by: str) -> str:
        """Queue a dead event again, or send a failed effect again under its key; returns its session."""
        ...

    async def drop(self, dead_id: str, by: str) -> None:
        """Give a dead letter up; it stays in the counts as dead."""
        ...

    async def resend(self, effect_id: str, by: str) -> None:
        """Send an ended-badly or unknown effect again, under the same key; marked as a possible duplicate."""
        ...

    async def mark(self, effect_id: str, state: str, by: str, note: str) -> None:
        """Say how an unknown effect ended (`delivered` or `failed`); its session is told when it asked."""
        ...

    async def add_dead(self, tenant: str, source: str, event_id: str, reason: str, raw: bytes) -> str:
        """Keep what could not be decoded, as raw bytes; returns its id."""
        ...

    async def release_artifacts(self, ref: SessionRef, *, before_seq: int, keep: Collection[str]) -> int:
        """Forget which artifacts the events below `before_seq` referred to, once retention has removed these; `keep`
        are the digests in the records and checkpoints that stay. What nothing refers to any more can be collected.
        Returns how many references it forgot."""
        ...

    async def trail(self, lines: Sequence[TrailLine]) -> None:
        """Write lines to the audit trail."""
        ...
