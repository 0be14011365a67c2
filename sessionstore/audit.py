"""The audit: nothing accepted and nothing intended has vanished, proved from counters against rows.

    accepted = queued + settled + dead + dropped + pruned
    intended = pending + sending + retry + delivered + unknown + failed + expired + cancelled + pruned

The counters grow in the transactions that write the rows, so a row that was deleted or doubled by anything else shows
as a difference. Counters are kept by the hour: a range is widened to whole hours. Transcripts are checked apart: their
numbers must be 1..n without a gap. So are the heads, which are what keeps a session awake.
"""

import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from sessionstore.reads import Balance, Reads
from sessionstore.rollcall import every_session

HOUR_S = 3600


@dataclass(frozen=True, slots=True)
class Gap:
    """A transcript whose numbers are not 1..seq: how many rows there are, and its first and last number."""

    tenant: str
    session: str
    seq: int
    rows: int
    first: int
    last: int

    @property
    def says(self) -> str:
        """What is missing, in one sentence."""
        missing = self.seq - self.rows
        if missing < 0 or self.last > self.seq:
            return f"the transcript of {self.session} goes on to {self.last}, its session ends at {self.seq}"
        places = [
            ("at its beginning", self.first > 1 or not self.rows),
            ("in the middle", self.rows < self.last - self.first + 1),
            ("at its end", self.last < self.seq),
        ]
        where = " and ".join(place for place, holds in places if holds)
        return f"{_counted(missing, 'event')} of {self.seq} missing {where} of the transcript of {self.session}"


@dataclass(frozen=True, slots=True)
class Misled:
    """A head that says what its rows do not: `due` with nothing queued, or rows queued that nothing will wake."""

    tenant: str
    session: str
    queued: int
    due: float | None

    @property
    def says(self) -> str:
        """What does not fit, in one sentence."""
        if self.queued:
            return f"{self.session} has {_counted(self.queued, 'row')} queued, but is not due: nothing will run them"
        return f"{self.session} is due, but has no row queued"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What was compared and what does not fit. Hours are since the epoch, UTC, `until_hour` not included."""

    tenant: str | None
    since_hour: int | None
    until_hour: int | None
    balances: tuple[Balance, ...]
    gaps: tuple[Gap, ...]
    misled: tuple[Misled, ...]

    @property
    def balanced(self) -> bool:
        """Whether everything is accounted for."""
        return not any(True for _ in self.findings())

    def findings(self) -> Iterator[str]:
        """One sentence for each thing that does not fit."""
        for balance in self.balances:
            if balance.missing:
                yield _imbalance(balance)
        yield from (gap.says for gap in self.gaps)
        yield from (misled.says for misled in self.misled)


async def audit(reads: Reads, tenant: str | None, since: float | None, until: float | None) -> AuditReport:
    """Compare counters with rows, of a tenant or all, of a time range (unix seconds, widened to whole hours) or all.

    Gaps and heads have no time and are looked at whole. Reads only; each comparison is on one snapshot.
    """
    since_hour = None if since is None else math.floor(since / HOUR_S)
    until_hour = None if until is None else math.ceil(until / HOUR_S)
    balances = await reads.balances(tenant, since_hour=since_hour, until_hour=until_hour)
    gaps = [Gap(**row) for row in await reads.gaps(tenant)]
    misled = [finding async for finding in _misled(reads, tenant)]
    return AuditReport(tenant, since_hour, until_hour, tuple(balances), tuple(gaps), tuple(misled))


def hour_text(hour: int) -> str:
    """An hour since the epoch as people and scripts read it, in UTC."""
    return datetime.fromtimestamp(hour * HOUR_S, UTC).strftime("%Y-%m-%dT%H:%MZ")


async def _misled(reads: Reads, tenant: str | None) -> AsyncIterator[Misled]:
    async for head in every_session(reads, tenant):
        queued, due = head["queued"], head["due"]
        # Behind an open run rows are held back on purpose, and an archived session runs nothing.
        asleep = queued and due is None and not head["run_id"] and head["status"] != "archived"
        if asleep or (due is not None and not queued):
            yield Misled(head["tenant"], head["session"], queued, due)


def _imbalance(balance: Balance) -> str:
    kind = "event" if balance.name == "accepted" else "effect"
    table = "inbox" if balance.name == "accepted" else "outbox"
    counted = f"{balance.counted:,} {balance.name}, {balance.pruned:,} pruned, {sum(balance.rows.values()):,} stored"
    if balance.missing > 0:
        return f"{_counted(balance.missing, kind)} missing from the {table} ({counted})"
    return f"{_counted(-balance.missing, kind)} in the {table} that nobody counted ({counted})"


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
