"""Waits on SQLite: an answer or an expiry ends a wait once, in the transaction that inserts its inbox row."""

from collections.abc import Sequence
from typing import Any

import orjson

from sessionstore.clock import Clock
from sessionstore.event import Event, Kind, Rank
from sessionstore.inbox import Accepted
from sessionstore.sqlite.arrivals import arrive
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Database, Transaction
from sessionstore.wait import Answered, AnswerResult, NewAnswer, NoSuchWait, NotOpen, WaitStatus

COLUMNS = [
    "wait_id",
    "tenant",
    "session",
    "agent",
    "epoch",
    "turn_id",
    "kind",
    "then",
    "question",
    "options",
    "binds",
    "data",
    "priority",
    "route",
    "due",
    "status",
    "answer",
    "answered_by",
    "note",
    "asked_at",
    "ended_at",
]
JSON_COLUMNS = ("options", "binds", "data", "route", "answer")


class SqliteWaits:
    """Answers of people, and what time does."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def answer(self, answers: Sequence[NewAnswer]) -> list[AnswerResult]:
        """The first answer wins and is durable on return; a later one is told who was first."""
        now = self._clock.now()

        def operation(tx: Transaction) -> list[AnswerResult]:
            tally = Tally()
            results = [_answer(tx, tally, item, now) for item in answers]
            tally.flush(tx)
            return results

        return await self._db.write(operation)

    async def fire_due(self, limit: int) -> list[Accepted]:
        """Due timers and expired questions become inbox rows, in one transaction."""
        now = self._clock.now()

        def operation(tx: Transaction) -> list[Accepted]:
            tally = Tally()
            fired = [_fire(tx, tally, wait_id, now) for (wait_id,) in tx.all("wait_due", (now, limit))]
            tally.flush(tx)
            return [row for row in fired if row is not None]

        return await self._db.write(operation)

    async def next_due(self) -> float | None:
        """When the next wait is due (unix seconds)."""
        row = await self._db.read(lambda tx: tx.one("wait_next_due"))
        return None if row is None else row[0]

    async def get(self, wait_id: str) -> dict[str, Any] | None:
        """A wait with all its columns, or None."""
        return await self._db.read(lambda tx: wait_row(tx, wait_id))


def wait_row(tx: Transaction, wait_id: str) -> dict[str, Any] | None:
    """A wait's columns by name, JSON decoded."""
    row = tx.one("wait_get", (wait_id,))
    return None if row is None else wait_dict(row)


def wait_dict(row: Sequence[Any]) -> dict[str, Any]:
    """From the columns that `wait_get` returns."""
    out = dict(zip(COLUMNS, row, strict=True))
    for name in JSON_COLUMNS:
        out[name] = orjson.loads(out[name]) if out[name] is not None else None
    return out


def _answer(tx: Transaction, tally: Tally, item: NewAnswer, now: float) -> AnswerResult:
    parameters = (WaitStatus.ANSWERED.value, orjson.dumps(item.answer), item.by, item.note, now, item.wait_id)
    won = tx.run("wait_answer", parameters).rowcount == 1
    wait = wait_row(tx, item.wait_id)
    if wait is None:
        return NoSuchWait(item.wait_id)
    if not won:
        late = wait["status"] == WaitStatus.OPEN.value
        status = WaitStatus.EXPIRED if late else WaitStatus(wait["status"])
        return NotOpen(item.wait_id, wait["session"], status, wait["answer"], wait["answered_by"])
    data = {"status": "answered", "answer": item.answer, "by": item.by, "note": item.note}
    accepted = _arrive(tx, tally, wait, data, Kind.ANSWER, now)
    return Answered(item.wait_id, wait["session"], accepted.row.pos if accepted else 0)


def _fire(tx: Transaction, tally: Tally, wait_id: str, now: float) -> Accepted | None:
    wait = wait_row(tx, wait_id)
    if wait is None:
        return None
    timer = wait["kind"] == "timer"
    status = WaitStatus.ANSWERED if timer else WaitStatus.EXPIRED
    if tx.run("wait_end", (status.value, None, now, wait_id)).rowcount == 0:
        return None
    data = {"status": "fired" if timer else "expired", "answer": None, "by": "time", "note": ""}
    return _arrive(tx, tally, wait, data, Kind.TIMER if timer else Kind.ANSWER, now)


def _arrive(
    tx: Transaction, tally: Tally, wait: dict[str, Any], data: dict[str, Any], kind: Kind, now: float
) -> Accepted | None:
    described = {name: wait[name] for name in ("wait_id", "then", "question", "binds", "data", "epoch")}
    event = Event(
        tenant=wait["tenant"],
        source="wait",
        id=wait["wait_id"],
        type=f"{wait['kind']}.{data['status']}",
        session=wait["session"],
        agent=wait["agent"],
        data={**described, **data},
        time=now,
        kind=kind,
        rank=Rank.RUN if wait["priority"] else Rank.REST,
        sender=data["by"],
        reply_route=wait["route"],
    )
    return arrive(tx, tally, event, now)
