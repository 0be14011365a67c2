"""What waits: overdue sessions, effects that nobody knows about, dead letters, questions, jobs, and the clock."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sessionstore.inbox import SessionRef
from sessionstore.rollcall import every_session
from sessionstore.store import Store
from turnline.cli.checkup.finding import Finding, attention, note, ok
from turnline.cli.times import ago, span, stamp

OVERDUE_S: Final = 60.0
CRON_OVERDUE_S: Final = 300.0
RECENT_S: Final = 86_400.0
READ_MAX: Final = 10_000
CLOCK_MIN: Final = 1_735_689_600.0  # 2025-01-01: no clock was right before this was written
CLOCK_SKEW_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the findings depend on: the time, whether a server runs, and the app's agents (None: not known)."""

    now: float
    served: bool
    agents: frozenset[str] | None


@dataclass(slots=True)
class _Sessions:
    count: int = 0
    overdue: int = 0
    oldest_due: float | None = None
    newest_change: float = 0.0
    homeless: int = 0


async def workload(store: Store, around: Surroundings) -> AsyncIterator[Finding]:
    """All findings about rows. Reads only."""
    seen = await _roll(store, around)
    yield clock(around.now, seen.newest_change)
    for finding in _sessions(seen, around):
        yield finding
    for finding in await _effects(store, around):
        yield finding
    for finding in (await _dead(store, around.now), await _questions(store, around.now), await _cron(store, around)):
        yield finding


def clock(now: float, newest_change: float) -> Finding:
    """The machine's clock against the newest change in the store."""
    if now < CLOCK_MIN:
        return attention("clock", f"it says {stamp(now)}", "set the clock; leases and expiries depend on it")
    if newest_change > now + CLOCK_SKEW_S:
        says = f"the store's newest change is {ago(newest_change, now)}, in the future"
        return attention("clock", says, "set the clock of this machine, or of the one that wrote this")
    return ok("clock", stamp(now))


async def _roll(store: Store, around: Surroundings) -> _Sessions:
    seen = _Sessions()
    async for head in every_session(store.reads, None):
        seen.count += 1
        seen.newest_change = max(seen.newest_change, head["updated_at"])
        if not head["queued"]:
            continue
        if around.agents is not None and head["agent"] not in around.agents:
            seen.homeless += 1
        since = await _runnable_since(store, head, around.now)
        if since is not None and since < around.now - OVERDUE_S:
            seen.overdue += 1
            seen.oldest_due = min(since, seen.oldest_due or since)
    return seen


async def _runnable_since(store: Store, head: dict[str, Any], now: float) -> float | None:
    """Since when a session could run and nobody has taken it. What is due at once has a due time of 0."""
    held = head["lease_until"] is not None and head["lease_until"] > now
    if held or head["due"] is None or head["due"] > now - OVERDUE_S or head["status"] == "paused":
        return None
    session = await store.reads.session(SessionRef(head["tenant"], head["session"]))
    rows = session["queued_rows"] if session else []
    return min((max(row["due"], row["received_at"]) for row in rows), default=None)


def _sessions(seen: _Sessions, around: Surroundings) -> Iterator[Finding]:
    if seen.overdue and seen.oldest_due is not None:
        says = f"{seen.overdue:,} of {seen.count:,} wait to run, the oldest since {span(around.now - seen.oldest_due)}"
        yield attention("sessions", says, _serve(around, "look at the server's log: is it at its limit, or stuck?"))
    else:
        yield ok("sessions", f"{seen.count:,}; none is overdue")
    if seen.homeless:
        says = f"{seen.homeless:,} sessions with queued events belong to agents that the app does not have"
        yield attention("agents", says, "deploy the app that has them; their events stay queued")


async def _effects(store: Store, around: Surroundings) -> list[Finding]:
    now = around.now
    waiting = await store.reads.effects(None, states=("pending", "retry"), limit=READ_MAX)
    overdue = [since for effect in waiting if (since := _sendable_since(effect)) and since < now - OVERDUE_S]
    unknown = await store.reads.effects(None, states=("unknown",), limit=READ_MAX)
    failed = await store.reads.effects(None, states=("failed", "expired"), limit=READ_MAX)
    return [_overdue(overdue, len(waiting), around), _unknown(unknown, now), _failed(failed, now)]


def _sendable_since(effect: dict[str, Any]) -> float | None:
    return None if effect["due"] is None else max(effect["due"], effect["created_at"])


def _overdue(overdue: Sequence[float], waiting: int, around: Surroundings) -> Finding:
    if not overdue:
        return ok("effects", f"{waiting:,} waiting; none is overdue")
    says = f"{len(overdue):,} should have been sent, the oldest {ago(min(overdue), around.now)}"
    behind = "does a lane wait behind an unknown one? `turnline effects list --state unknown,sending`"
    return attention("effects", says, _serve(around, behind))


def _unknown(unknown: Sequence[dict[str, Any]], now: float) -> Finding:
    if not unknown:
        return ok("unknown effects", "none")
    oldest = min(effect["sent_at"] or effect["created_at"] for effect in unknown)
    says = f"{len(unknown):,} may or may not have been done, the oldest {ago(oldest, now)}"
    todo = "find out, then `turnline effects mark ID delivered|failed`, or `turnline effects resend ID`"
    return attention("unknown effects", says, todo)


def _failed(failed: Sequence[dict[str, Any]], now: float) -> Finding:
    recent = sum((effect["settled_at"] or effect["created_at"]) > now - RECENT_S for effect in failed)
    if recent:
        todo = "`turnline effects list --state failed,expired` tells why; `turnline effects resend ID` tries again"
        return attention(
            "failed effects", f"{recent:,} failed or expired in the last day, {len(failed):,} in all", todo
        )
    return ok("failed effects", f"none in the last day, {len(failed):,} in all")


async def _dead(store: Store, now: float) -> Finding:
    letters = [letter for letter in await store.reads.dead(None, limit=READ_MAX) if letter["state"] == "dead"]
    if not letters:
        return ok("dead letters", "none")
    says = f"{len(letters):,}, the newest {ago(max(letter['at'] for letter in letters), now)}"
    todo = "`turnline dead list` tells why; fix it, then `turnline dead redrive ID`, or `turnline dead drop ID`"
    return attention("dead letters", says, todo)


async def _questions(store: Store, now: float) -> Finding:
    waits = await store.reads.waits(None, limit=READ_MAX)
    questions = [wait for wait in waits if wait["kind"] == "approval"]
    if not questions:
        return ok("questions", "none is open")
    says = f"{len(questions):,} open, the oldest asked {ago(min(wait['asked_at'] for wait in questions), now)}"
    return note("questions", says, "`turnline approvals list` shows them")


async def _cron(store: Store, around: Surroundings) -> Finding:
    jobs = await store.cron.jobs()
    late = [job for job in jobs if not job.paused and job.next_due is not None]
    late = [job for job in late if (job.next_due or 0.0) < around.now - CRON_OVERDUE_S]
    if not late:
        return ok("cron", f"{len(jobs):,} jobs; none is late")
    names = ", ".join(job.job for job in late[:5])
    return attention("cron", f"{len(late):,} jobs are late: {names}", _serve(around, "look at the server's log"))


def _serve(around: Surroundings, otherwise: str) -> str:
    return otherwise if around.served else "no server runs: start one with `turnline dev APP`"
