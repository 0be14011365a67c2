"""The inbox on SQLite."""

from collections.abc import Collection, Sequence

from sessionstore.clock import Clock
from sessionstore.inbox import (
    Accepted,
    Archived,
    BodyConflict,
    Dropped,
    Duplicate,
    InboxRow,
    NewRow,
    PutResult,
    RowStatus,
    SessionRef,
)
from sessionstore.sqlite.arrivals import arrive
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Database, Transaction
from sessionstore.sqlite.rows import event_body, inbox_row

AUDIT_DETAIL_MAX = 500


class SqliteInbox:
    """Puts and reads of inbox rows."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def put(self, rows: Sequence[NewRow]) -> list[PutResult]:
        """See `Inbox.put`."""
        now = self._clock.now()
        return await self._db.write(lambda tx: _put(tx, rows, now))

    async def queued(self, ref: SessionRef, limit: int) -> list[InboxRow]:
        """See `Inbox.queued`."""
        found = await self._db.read(lambda tx: tx.all("inbox_queued", (ref.tenant, ref.session, limit)))
        return [inbox_row(ref.tenant, ref.session, row) for row in found]

    async def runnable(self, agents: Collection[str], limit: int) -> list[SessionRef]:
        """See `Inbox.runnable`; `limit` holds for each tenant, so that none hides another."""
        now = self._clock.now()
        names = f",{','.join(agents)},"

        def query(tx: Transaction) -> list[SessionRef]:
            tenants = [row[0] for row in tx.all("session_tenants")]
            return [
                SessionRef(t, row[0]) for t in tenants for row in tx.all("session_runnable", (t, now, names, limit))
            ]

        return await self._db.read(query)


def _put(tx: Transaction, rows: Sequence[NewRow], now: float) -> list[PutResult]:
    tally = Tally()
    results = [_put_one(tx, tally, row, now) for row in rows]
    tally.flush(tx)
    return results


def _put_one(tx: Transaction, tally: Tally, row: NewRow, now: float) -> PutResult:
    event = row.event
    if row.shared:
        first = (event.tenant, event.source, event.id, event.session, row.body_hash, now)
        if tx.run("received_insert", first).rowcount == 0:
            return _repeated(tx, row, now)
    if row.dropped:
        return _drop(tx, tally, row, now)
    accepted = arrive(tx, tally, event, now)
    if accepted is None:
        return _duplicate(tx, event.tenant, event.session, event.source, event.id)
    if _archived(tx, accepted):
        return Archived(event.session)
    return accepted


def _archived(tx: Transaction, accepted: Accepted) -> bool:
    event = accepted.row.event
    status = tx.one("session_status", (event.tenant, event.session))
    if status is None or status[0] != "archived":
        return False
    tx.run("inbox_drop", ("the session is archived", accepted.row.received_at, accepted.row.pos))
    tx.run("session_unarrive", (event.tenant, event.session))
    tx.notice.rows.remove(accepted)
    return True


def _repeated(tx: Transaction, row: NewRow, now: float) -> PutResult:
    event = row.event
    session, body_hash = tx.one("received_get", (event.tenant, event.source, event.id))
    if body_hash and row.body_hash and body_hash != row.body_hash:
        detail = f"event {event.id!r} came again with another body"[:AUDIT_DETAIL_MAX]
        tx.run("audit_trail_add", (now, event.tenant, event.source, "event.conflict", session, detail))
        return BodyConflict(session)
    return _duplicate(tx, event.tenant, session, event.source, event.id)


def _duplicate(tx: Transaction, tenant: str, session: str, source: str, event_id: str) -> Duplicate:
    found = tx.one("inbox_find", (tenant, session, source, event_id))
    return Duplicate(session, *found) if found else Duplicate(session, 0, "pruned")


def _drop(tx: Transaction, tally: Tally, row: NewRow, now: float) -> PutResult:
    event = row.event
    parameters = (
        event.tenant,
        event.session,
        event.source,
        event.id,
        event.kind.value,
        int(event.rank),
        RowStatus.DROPPED.value,
        now,
        now,
        row.dropped,
        event_body(event),
    )
    cursor = tx.run("inbox_insert", parameters)
    if cursor.rowcount == 0:
        return _duplicate(tx, event.tenant, event.session, event.source, event.id)
    tally.add(event.tenant, "accepted", now)
    return Dropped(cursor.lastrowid or 0, row.dropped)
