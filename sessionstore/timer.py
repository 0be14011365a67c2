"""Timers and cron: claim and inbox row are one transaction, so a firing is never lost and never doubled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sessionstore.event import Event
from sessionstore.inbox import Accepted
from sessionstore.wait import AnswerResult, NewAnswer


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
    last_nominal: float
    next_due: float | None
    events: tuple[Event, ...]
    nominals: tuple[str, ...]
    skipped: tuple[str, ...] = ()
    overlap: str = "queue"


class Waits(Protocol):
    """Questions and timers: each ends once, in the transaction that writes its inbox row."""

    async def answer(self, answers: Sequence[NewAnswer]) -> list[AnswerResult]:
        """The first answer wins and is durable on return; a later one is told who was first."""
        ...

    async def fire_due(self, limit: int) -> list[Accepted]:
        """Turn due timers and expired questions into inbox rows, in one transaction."""
        ...

    async def next_due(self) -> float | None:
        """When the next one is due (unix seconds)."""
        ...

    async def get(self, wait_id: str) -> dict[str, Any] | None:
        """A wait with all its columns, or None."""
        ...


class Cron(Protocol):
    """Declared jobs and their firings."""

    async def declare(self, jobs: Sequence[CronJob]) -> list[CronJob]:
        """Reconcile declared jobs with the stored ones, idempotently; returns them as stored."""
        ...

    async def jobs(self, tenant: str | None = None) -> list[CronJob]:
        """All jobs, by name."""
        ...

    async def next_due(self) -> float | None:
        """When the next job is due (unix seconds)."""
        ...

    async def fire(self, fires: Sequence[CronFire]) -> list[list[Accepted] | None]:
        """Claim and write; None where another scheduler was first. Durable on return."""
        ...
