"""Operator actions on whole sessions on SQLite."""

from collections.abc import Sequence

from sessionstore.clock import Clock
from sessionstore.inbox import SessionRef
from sessionstore.intervention import AlreadyIntervened, Intervened, Intervention, InterventionResult, Moved
from sessionstore.sqlite.arrivals import arrive, route_json
from sessionstore.sqlite.commits import append
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Database, Transaction
from sessionstore.sqlite.intended import Origin, put_effects, put_waits
from sessionstore.sqlite.leases import next_row
from sessionstore.sqlite.withdrawing import withdraw


class SqliteInterventions:
    """See `Interventions`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def intervene(self, batch: Sequence[Intervention]) -> list[InterventionResult]:
        """See `Interventions.intervene`."""
        now = self._clock.now()

        def operation(tx: Transaction) -> list[InterventionResult]:
            tally = Tally()
            results = [_intervene(tx, tally, item, now) for item in batch]
            tally.flush(tx)
            return results

        return await self._db.write(operation)


def _intervene(tx: Transaction, tally: Tally, x: Intervention, now: float) -> InterventionResult:
    key = (x.ref.tenant, x.ref.session)
    row = tx.one("session_op", key)
    if row is not None and row[0] == x.operation_id:
        return AlreadyIntervened(x.operation_id)
    if x.begins is not None:
        if row is not None:
            return Moved(row[1])
        return _begin(tx, tally, x, x.begins.agent, now)
    if row is None:
        return Moved(0)
    _, version, seq, agent, lease_until = row
    if version != x.version or seq + 1 != x.first_seq:
        return Moved(version)
    running = lease_until is not None and lease_until >= now
    return _apply(tx, tally, x, Origin(x.ref, agent, x.epoch, x.operation_id, x.run_id), running, now)


def _begin(tx: Transaction, tally: Tally, x: Intervention, agent: str, now: float) -> Intervened:
    tenant, session = x.ref.tenant, x.ref.session
    tx.run("session_begin", (tenant, session, agent, now))
    if x.begins is not None:
        source = (tenant, session, x.begins.source.session, x.begins.seq)
        tx.run("transcript_copy", source)
        tx.run("checkpoint_copy", source)
    return _apply(tx, tally, x, Origin(x.ref, agent, x.epoch, x.operation_id, x.run_id), False, now)


def _apply(tx: Transaction, tally: Tally, x: Intervention, origin: Origin, running: bool, now: float) -> Intervened:
    tenant, session = x.ref.tenant, x.ref.session
    dropped = _drop(tx, x, running, now)
    withdrawn = withdraw(tx, x.ref, x.withdraw, now)
    last_seq = append(tx, origin, x.first_seq, x.entries, now)
    tx.run("record_put", (tenant, session, last_seq, x.record, x.record_sha256))
    # A full checkpoint each time: what an operator changed is what somebody will want to go back to.
    tx.run("checkpoint_put", (tenant, session, last_seq, x.epoch, x.operation_id, now, x.record, x.record_sha256))
    if x.effects:
        put_effects(tx, tally, origin, x.effects, None, now)
    put_waits(tx, origin, x.waits, x.close_waits, now)
    if x.clear_journal:
        tx.run("journal_clear", (tenant, session))
        tx.run("step_clear", (tenant, session))
    if x.due_now:
        tx.run("inbox_due_now", (tenant, session))
    _put_head(tx, x, last_seq, now)
    for event in x.events:
        arrive(tx, tally, event, now)
    _, due = next_row(tx, tenant, session, x.run_id, now)
    tx.run("session_set_due", (due, tenant, session))
    trail = x.trail
    tx.run("audit_trail_add", (now, trail.tenant, trail.actor, trail.action, trail.target, trail.detail))
    tx.notice.revoked.add(x.ref)
    tx.notice.touched.add(x.ref)
    tx.notice.woken.add(SessionRef(tenant, session))
    return Intervened(x.version + 1, last_seq, tuple(withdrawn), dropped)


def _drop(tx: Transaction, x: Intervention, running: bool, now: float) -> int:
    key = (x.ref.tenant, x.ref.session)
    if x.drop_queued:
        return tx.run("inbox_drop_queued", (x.drop_queued, now, *key)).rowcount
    if x.drop_current and running:
        (run_id,) = tx.one("session_run", key)
        pos, _ = next_row(tx, *key, run_id, now)
        if pos:
            tx.run("inbox_drop", (x.drop_current, now, pos))
            return 1
    return 0


def _put_head(tx: Transaction, x: Intervention, seq: int, now: float) -> None:
    route = route_json(x.reply_route)
    row = (x.ref.tenant, x.ref.session, seq, x.status.value, x.run_id, x.epoch, x.person, x.operation_id, route, now)
    tx.run("session_intervene", row)
