"""Row leases on SQLite: the lease, the fence and the load of a session are one statement and a few reads."""

import secrets
from collections.abc import Sequence

import orjson

from sessionstore.clock import Clock
from sessionstore.errors import FenceLost
from sessionstore.inbox import SessionRef
from sessionstore.leases import AcquireResult, Busy, Gone, Held, Journal, Lease, Receipt, StepRecord
from sessionstore.sqlite.database import Database, Transaction
from sessionstore.sqlite.rows import head_from

NONCE_BYTES = 16
RECEIPTS_MAX = 64


class SqliteLeases:
    """Leases as columns of `session`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def acquire(self, refs: Sequence[SessionRef], owner: str, ttl_s: float) -> list[AcquireResult]:
        """See `RowLeases.acquire`."""
        now = self._clock.now()
        until = now + ttl_s
        return await self._db.write(lambda tx: [_acquire(tx, ref, owner, now, until) for ref in refs])

    async def renew(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """See `RowLeases.renew`."""
        now = self._clock.now()

        def operation(tx: Transaction) -> list[bool]:
            return [
                tx.run("session_renew", (x.ref.tenant, x.ref.session, x.nonce, now + ttl_s, now)).rowcount == 1
                for x in leases
            ]

        return await self._db.write(operation)

    async def release(self, leases: Sequence[Lease]) -> None:
        """See `RowLeases.release`."""
        rows = [(x.ref.tenant, x.ref.session, x.nonce) for x in leases]
        await self._db.write(lambda tx: tx.run_many("session_release", rows))

    async def attempt(self, lease: Lease, pos: int, *, due: float | None = None, error: str = "") -> int:
        """See `RowLeases.attempt`."""
        row = await self._db.write(lambda tx: _attempt(tx, lease, pos, due, error))
        if row is None:
            raise FenceLost(f"{lease.ref.session} has another owner", hint="nothing to do; its owner goes on")
        return row


def _acquire(tx: Transaction, ref: SessionRef, owner: str, now: float, until: float) -> AcquireResult:
    tenant, session = ref.tenant, ref.session
    # A nonce per acquisition, not per worker: a worker's own stale attempt must not pass for its new one.
    nonce = secrets.token_hex(NONCE_BYTES)
    row = tx.one("session_acquire", (tenant, session, nonce, owner, until, now))
    if row is None:
        live = tx.one("session_lease", (tenant, session))
        return Busy(ref, live[0] or now) if live else Gone(ref)
    head = head_from(tenant, session, row)
    record = tx.one("record_get", (tenant, session))
    next_pos, next_due = next_row(tx, tenant, session, head.run_id, now)
    return Held(
        lease=Lease(ref, nonce, head.fence, until),
        head=head,
        record=record[0] if record else b"",
        next_pos=next_pos,
        next_due=next_due,
        receipts=receipts(tx, tenant, session),
        journal=_journal(tx, tenant, session),
        took_over=row[18] is not None,
    )


def next_row(tx: Transaction, tenant: str, session: str, run_id: str, now: float) -> tuple[int, float | None]:
    """The position to run next (0: none now) and the due time of the first row in order (None: no row)."""
    found = tx.one("inbox_next", (tenant, session, run_id))
    if found is None:
        return 0, None
    pos, due = found
    return (pos if due <= now else 0), due


def receipts(tx: Transaction, tenant: str, session: str) -> tuple[Receipt, ...]:
    """Ended effects that no commit has absorbed yet."""
    return tuple(Receipt(*row) for row in tx.all("outbox_receipts", (tenant, session, RECEIPTS_MAX)))


def _journal(tx: Transaction, tenant: str, session: str) -> Journal | None:
    pinned = tx.one("journal_get", (tenant, session))
    if pinned is None:
        return None
    turn_id, members, agent_version = pinned
    steps = {
        key: StepRecord(key, args_hash, orjson.loads(result))
        for key, args_hash, result in tx.all("step_list", (tenant, session, turn_id))
    }
    return Journal(turn_id, tuple(orjson.loads(members)), agent_version, steps)


def _attempt(tx: Transaction, lease: Lease, pos: int, due: float | None, error: str) -> int | None:
    key = (lease.ref.tenant, lease.ref.session)
    row = tx.one("session_attempt", (*key, lease.nonce, lease.fence, pos, error))
    if row is None:
        return None
    if due is not None:
        tx.run("inbox_defer", (due, pos))
        # Not simply `due`: a command may have come meanwhile, and it does not wait behind this row.
        (run_id,) = tx.one("session_run", key)
        _, first_due = next_row(tx, *key, run_id, due)
        tx.run("session_defer", (*key, first_due))
    return int(row[0])
