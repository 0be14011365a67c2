"""Timers and cron: claim and inbox row are one transaction, so a firing is never lost and never doubled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sessionstore.event import Event
from sessionstore.inbox import PutResult


@dataclass(frozen=True, slots=True)
class CronJob:
    """A declared job. `next_due` is the next nominal instant (unix seconds), None when there is none."""

    tenant: str
    job: str
    agent: str
    handler: str
    session: str
    schedule: str
    tz: str
    misfire: str = "run_once"
    overlap: str = "queue"
    grace_s: float = 0.0
    data: Mapping[str, Any] = field(default_factory=dict)
    next_due: float | None = None
    last_nominal: float | None = None
    paused: bool = False
    revision: int = 1


@dataclass(frozen=True, slots=True)
class CronFire:
    """One firing: the job at a revision, the nominal instants to run, and what comes after.

    It holds only if the job's `next_due` is still `expected_due`: so of two schedulers one fires.
    """

    tenant: str
    job: str
    expected_due: float
    next_due: float | None
    events: tuple[Event, ...]
    nominals: tuple[str, ...]
    skipped: tuple[str, ...] = ()


class Timers(Protocol):
    """Due timers become inbox rows."""

    async def fire_due(self, limit: int) -> list[PutResult]:
        """Turn due timers and expired waits into inbox rows, in one transaction."""
        ...

    async def next_due(self) -> float | None:
        """When the next timer or cron job is due (unix seconds)."""
        ...

    async def declare(self, jobs: Sequence[CronJob]) -> list[CronJob]:
        """Reconcile declared jobs with the stored ones, idempotently; returns them as stored."""
        ...

    async def jobs(self, tenant: str | None = None) -> list[CronJob]:
        """All jobs, by name."""
        ...

    async def fire(self, fires: Sequence[CronFire]) -> list[list[PutResult] | None]:
        """Claim and write; None where another scheduler was first."""
        ...
