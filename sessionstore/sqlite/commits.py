"""The closing commit and the record commit on SQLite."""

from collections.abc import Sequence

import orjson

from sessionstore.clock import Clock
from sessionstore.commit import (
    AlreadyProcessed,
    CommitResult,
    Committed,
    Entry,
    FenceRefused,
    RecordCommit,
    TurnCommit,
    VersionConflict,
)
from sessionstore.errors import Damaged
from sessionstore.inbox import RowStatus
from sessionstore.leases import Lease
from sessionstore.sqlite.arrivals import route_json
from sessionstore.sqlite.artifactrefs import put_refs
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Database, Transaction
from sessionstore.sqlite.intended import Origin, put_effects, put_waits
from sessionstore.sqlite.leases import next_row, receipts


class SqliteCommits:
    """`SessionStore` on SQLite."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def commit(self, batch: Sequence[TurnCommit]) -> list[CommitResult]:
        """See `SessionStore.commit`."""
        now = self._clock.now()

        def operation(tx: Transaction) -> list[CommitResult]:
            tally = Tally()
            results = [_commit(tx, tally, turn, now) for turn in batch]
            tally.flush(tx)
            return results

        return await self._db.write(operation)

    async def record(self, batch: Sequence[RecordCommit]) -> list[bool]:
        """See `SessionStore.record`."""
        now = self._clock.now()
        return await self._db.write(lambda tx: [_record(tx, item, now) for item in batch])


def _commit(tx: Transaction, tally: Tally, turn: TurnCommit, now: float) -> CommitResult:
    tenant, session = turn.lease.ref.tenant, turn.lease.ref.session
    # All judgement comes before the first write: a refused turn leaves no trace and disturbs no neighbour.
    guard = tx.one("session_guard", (tenant, session))
    if guard is None:
        return FenceRefused(0)
    owner, fence, version, last_turn, seq, agent, epoch = guard
    if last_turn == turn.turn_id:
        return AlreadyProcessed(turn.turn_id)
    if owner != turn.lease.nonce or fence != turn.lease.fence:
        return FenceRefused(fence)
    if version != turn.version or seq + 1 != turn.first_seq:
        return VersionConflict(version)
    _settle_members(tx, turn, now)
    origin = Origin(turn.lease.ref, agent, epoch, turn.turn_id, turn.run_id)
    last_seq = append(tx, origin, turn.first_seq, turn.entries, now)
    _put_record(tx, turn, last_seq, epoch, now)
    handed = put_effects(tx, tally, origin, turn.effects, turn.hand_over, now) if turn.effects else ()
    if turn.waits or turn.close_waits:
        put_waits(tx, origin, turn.waits, turn.close_waits, now)
    tx.run_many("outbox_absorb", [(pos,) for pos in turn.absorbed])
    if turn.journaled:
        tx.run("journal_clear", (tenant, session))
        tx.run("step_clear", (tenant, session))
    next_pos, next_due = next_row(tx, tenant, session, turn.run_id, now)
    _put_head(tx, turn, last_seq, next_due, now)
    tx.notice.touched.add(turn.lease.ref)
    return Committed(version + 1, last_seq, next_pos, next_due, receipts(tx, tenant, session), handed)


def _settle_members(tx: Transaction, turn: TurnCommit, now: float) -> None:
    status = RowStatus.DEAD if turn.dead_reason else RowStatus.SETTLED
    for pos in turn.members:
        if turn.dead_reason:
            _put_dead(tx, turn, pos, now)
        settled = tx.run("inbox_settle", (status.value, now, turn.turn_id, turn.dead_reason or None, pos))
        if settled.rowcount != 1:
            raise _missing(turn, pos)


def _missing(turn: TurnCommit, pos: int) -> Damaged:
    return Damaged(
        f"inbox row {pos} of {turn.lease.ref.session} is not queued any more",
        hint="run `turnline audit`; it tells which rows are missing",
    )


def _put_dead(tx: Transaction, turn: TurnCommit, pos: int, now: float) -> None:
    tenant, session = turn.lease.ref.tenant, turn.lease.ref.session
    row = tx.one("inbox_identity", (pos,))
    if row is None or row[2] is None:
        raise _missing(turn, pos)
    source, event_id, body = row
    dead_id = f"{turn.turn_id}.{pos}"
    tx.run("dead_insert", (dead_id, tenant, session, source, event_id, pos, turn.dead_reason, body, now))


def append(tx: Transaction, origin: Origin, first_seq: int, entries: Sequence[Entry], now: float) -> int:
    """Number and write transcript events; returns the last number."""
    ref = origin.ref
    rows = [
        (ref.tenant, ref.session, seq, origin.epoch, x.type, now, origin.turn_id, x.json or orjson.dumps(x.body))
        for seq, x in enumerate(entries, first_seq)
    ]
    tx.run_many("transcript_append", rows)
    put_refs(tx, ref, first_seq, entries)
    return first_seq + len(rows) - 1


def _put_record(tx: Transaction, turn: TurnCommit, seq: int, epoch: int, now: float) -> None:
    tenant, session = turn.lease.ref.tenant, turn.lease.ref.session
    digest = turn.record_sha256
    tx.run("record_put", (tenant, session, seq, turn.record, digest))
    if turn.snapshot:
        tx.run("checkpoint_put", (tenant, session, seq, epoch, turn.turn_id, now, turn.record, digest))


def _put_head(tx: Transaction, turn: TurnCommit, seq: int, due: float | None, now: float) -> None:
    tenant, session = turn.lease.ref.tenant, turn.lease.ref.session
    totals = turn.totals
    tx.run(
        "session_commit",
        (
            tenant,
            session,
            turn.version + 1,
            seq,
            turn.status.value,
            turn.run_id,
            turn.turn_id,
            due,
            now + turn.lease_ttl_s,
            route_json(turn.reply_route),
            totals.turns,
            totals.tokens,
            totals.cost,
            totals.seconds,
            now,
        ),
    )


def _record(tx: Transaction, item: RecordCommit, now: float) -> bool:
    if not holds(tx, item.lease):
        return False
    tenant, session = item.lease.ref.tenant, item.lease.ref.session
    tx.run("journal_pin", (tenant, session, item.turn_id, orjson.dumps(item.members), item.agent_version, now))
    progress = False
    for step in item.steps:
        # The same step asked anew is no progress: a turn that does so and fails must not be tried for ever.
        progress = progress or tx.one("step_known", (tenant, session, item.turn_id, step.key)) is None
        row = (tenant, session, item.turn_id, step.key, step.args_hash, orjson.dumps(step.result), now)
        tx.run("step_put", row)
    if progress:
        tx.run("session_progress", (tenant, session))
    return True


def holds(tx: Transaction, lease: Lease) -> bool:
    """Whether the lease's owner and fence are still the session's."""
    row = tx.one("session_guard", (lease.ref.tenant, lease.ref.session))
    return row is not None and row[0] == lease.nonce and row[1] == lease.fence
