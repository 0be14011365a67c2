"""Operator actions on SQLite."""

import secrets
import uuid
from collections.abc import Collection, Sequence
from typing import NoReturn

from sessionstore.clock import Clock
from sessionstore.effect import EffectState, Settlement
from sessionstore.errors import Conflict, NotFound
from sessionstore.inbox import SessionRef
from sessionstore.operations import TrailLine
from sessionstore.sqlite.artifactrefs import release_refs
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Database, Transaction
from sessionstore.sqlite.leases import next_row
from sessionstore.sqlite.outbox import NONCE_BYTES, settle
from sessionstore.sqlite.rows import claimed_from


class SqliteOperations:
    """See `Operations`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def redrive(self, dead_id: str, by: str) -> str:
        """See `Operations.redrive`."""
        now = self._clock.now()
        return await self._db.write(lambda tx: _redrive(tx, dead_id, by, now))

    async def drop(self, dead_id: str, by: str) -> None:
        """See `Operations.drop`."""
        now = self._clock.now()

        def operation(tx: Transaction) -> None:
            _end_dead(tx, dead_id, "dropped")
            tx.run("audit_trail_add", (now, "", by, "dead.drop", dead_id, ""))

        await self._db.write(operation)

    async def resend(self, effect_id: str, by: str) -> None:
        """See `Operations.resend`."""
        now = self._clock.now()
        await self._db.write(lambda tx: _resend(tx, effect_id, by, now))

    async def mark(self, effect_id: str, state: str, by: str, note: str) -> None:
        """See `Operations.mark`."""
        now = self._clock.now()
        await self._db.write(lambda tx: _mark(tx, effect_id, EffectState(state), by, note, now))

    async def add_dead(self, tenant: str, source: str, event_id: str, reason: str, raw: bytes) -> str:
        """See `Operations.add_dead`."""
        now = self._clock.now()
        dead_id = str(uuid.uuid4())
        row = (dead_id, tenant, "", source, event_id, None, reason, raw, now)
        await self._db.write(lambda tx: tx.run("dead_insert", row))
        return dead_id

    async def release_artifacts(self, ref: SessionRef, *, before_seq: int, keep: Collection[str]) -> int:
        """See `Operations.release_artifacts`."""
        return await self._db.write(lambda tx: release_refs(tx, ref, before_seq, keep))

    async def trail(self, lines: Sequence[TrailLine]) -> None:
        """See `Operations.trail`."""
        now = self._clock.now()
        rows = [(now, x.tenant, x.actor, x.action, x.target, x.detail) for x in lines]
        await self._db.write(lambda tx: tx.run_many("audit_trail_add", rows))


def _end_dead(tx: Transaction, dead_id: str, state: str) -> None:
    if tx.run("dead_end", (state, dead_id)).rowcount == 1:
        return
    row = tx.one("dead_get", (dead_id,))
    if row is None:
        raise NotFound(f"no dead letter {dead_id!r}", hint="`turnline dead list` shows them")
    raise Conflict(f"dead letter {dead_id!r} is already {row[9]}", hint="nothing to do")


def _redrive(tx: Transaction, dead_id: str, by: str, now: float) -> str:
    row = tx.one("dead_get", (dead_id,))
    if row is None:
        raise NotFound(f"no dead letter {dead_id!r}", hint="`turnline dead list` shows them")
    _, tenant, session, source, event_id, pos, _, raw, _, _ = row
    if pos is None:
        raise Conflict(
            f"dead letter {dead_id!r} was never an event",
            hint=f"fix what {source!r} sends, send {event_id!r} again, and drop this one",
        )
    _end_dead(tx, dead_id, "redriven")
    queued = tx.one("inbox_redrive", (raw, 0.0, pos))
    if queued is None:
        raise Conflict(f"event {event_id!r} is not dead any more", hint="`turnline sessions show` tells where it is")
    (run_id,) = tx.one("session_run", (tenant, session))
    _, due = next_row(tx, tenant, session, run_id, now)
    tx.run("session_redriven", (tenant, session, queued[0], due))
    tx.run("audit_trail_add", (now, tenant, by, "dead.redrive", session, dead_id))
    tx.notice.woken.add(SessionRef(tenant, session))
    return str(session)


def _resend(tx: Transaction, effect_id: str, by: str, now: float) -> None:
    row = tx.one("outbox_resend", (0.0, effect_id))
    if row is None:
        _no_such_effect(tx, effect_id, "failed, expired or unknown")
    tenant, session, lane = row
    tx.run("outbox_demote", (tenant, session, lane))
    if tx.one("outbox_lane_busy", (tenant, session, lane)) is None:
        tx.run("outbox_promote", (tenant, session, lane))
    tx.run("audit_trail_add", (now, tenant, by, "effect.resend", session, effect_id))
    tx.notice.outbox = True
    tx.notice.touched.add(SessionRef(tenant, session))


def _mark(tx: Transaction, effect_id: str, state: EffectState, by: str, note: str, now: float) -> None:
    nonce = secrets.token_hex(NONCE_BYTES)
    row = tx.one("outbox_claim_one", (nonce, now, effect_id))
    if row is None:
        _no_such_effect(tx, effect_id, "unknown")
    claim = claimed_from(tx.one("outbox_get", (row[0],)))
    tally = Tally()
    settle(tx, tally, Settlement(claim, state, error=note, reason=f"marked by {by}"), now)
    tally.flush(tx)
    tx.run("audit_trail_add", (now, claim.tenant, by, f"effect.mark.{state.value}", claim.session, effect_id))


def _no_such_effect(tx: Transaction, effect_id: str, wanted: str) -> NoReturn:
    row = tx.one("read_effect", (effect_id,))
    if row is None:
        raise NotFound(f"no effect {effect_id!r}", hint="`turnline effects list` shows them")
    raise Conflict(f"effect {effect_id!r} is {row[17]}, not {wanted}", hint="nothing was changed")
