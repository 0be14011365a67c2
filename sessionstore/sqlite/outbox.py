"""The outbox on SQLite: claims of lane heads, the durable mark, and settlements."""

import secrets
from collections.abc import Collection, Sequence

import orjson

from sessionstore.clock import Clock
from sessionstore.effect import ENDED, Claimed, EffectState, Settlement
from sessionstore.event import Event, Kind, Rank
from sessionstore.inbox import SessionRef
from sessionstore.sqlite.arrivals import arrive
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Database, Transaction
from sessionstore.sqlite.rows import claimed_from
from sessionstore.sqlite.withdrawing import withdraw

NONCE_BYTES = 16
SWEEP_MAX = 256


class SqliteOutbox:
    """`OutboxQueue` on SQLite."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def claim(self, adapters: Collection[str], limit: int, ttl_s: float) -> list[Claimed]:
        """See `OutboxQueue.claim`."""
        now = self._clock.now()
        names = f",{','.join(adapters)},"
        return await self._db.write(lambda tx: _claim(tx, names, limit, now, now + ttl_s))

    async def mark(self, claims: Sequence[Claimed]) -> list[bool]:
        """See `OutboxQueue.mark`."""
        now = self._clock.now()
        return await self._db.write(
            lambda tx: [tx.run("outbox_mark", (now, c.pos, c.nonce)).rowcount == 1 for c in claims]
        )

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """See `OutboxQueue.settle`."""
        now = self._clock.now()

        def operation(tx: Transaction) -> list[bool]:
            tally = Tally()
            results = [settle(tx, tally, s, now) for s in settlements]
            tally.flush(tx)
            return results

        return await self._db.write(operation)

    async def started(self, claim: Claimed, external_id: str) -> bool:
        """See `OutboxQueue.started`."""
        parameters = (external_id, claim.pos, claim.nonce)
        return await self._db.write(lambda tx: tx.run("outbox_started", parameters).rowcount == 1)

    async def renew(self, claims: Sequence[Claimed], ttl_s: float) -> list[bool]:
        """See `OutboxQueue.renew`."""
        now = self._clock.now()
        return await self._db.write(
            lambda tx: [tx.run("outbox_renew", (now + ttl_s, c.pos, c.nonce, now)).rowcount == 1 for c in claims]
        )

    async def claim_unknown(self, adapters: Collection[str], limit: int, ttl_s: float) -> list[Claimed]:
        """See `OutboxQueue.claim_unknown`."""
        now = self._clock.now()
        names = f",{','.join(adapters)},"

        def operation(tx: Transaction) -> list[Claimed]:
            nonce = secrets.token_hex(NONCE_BYTES)
            found = [row[0] for row in tx.all("outbox_unknown", (now, names, limit))]
            tx.run_many("outbox_look", [(nonce, now + ttl_s, pos) for pos in found])
            return [claimed_from(tx.one("outbox_get", (pos,))) for pos in found]

        return await self._db.write(operation)

    async def next_due(self) -> float | None:
        """When the next row is due to be sent or looked at (unix seconds)."""
        row = await self._db.read(lambda tx: tx.one("outbox_next_due"))
        return None if row is None else row[0]


def sweep(tx: Transaction, now: float) -> None:
    """Rows whose sender's claim ran out: `sending` becomes `unknown`, never pending again by itself."""
    for pos, tenant, session in tx.all("outbox_run_out", (now, SWEEP_MAX)):
        tx.run("outbox_to_unknown", (now, pos))
        tx.notice.unknown = True
        tx.notice.touched.add(SessionRef(tenant, session))
    tx.run("outbox_unclaim", (now,))


def _claim(tx: Transaction, adapters: str, limit: int, now: float, until: float) -> list[Claimed]:
    sweep(tx, now)
    nonce = secrets.token_hex(NONCE_BYTES)
    found = tx.all("outbox_claimable", (now, adapters, limit))
    tx.run_many("outbox_send", [(nonce, until, now, pos) for pos, held in found if not held])
    # A bound or expired row is not marked: it is looked at first. If we die meanwhile it is due again by itself.
    tx.run_many("outbox_hold", [(nonce, until, until, pos) for pos, held in found if held])
    return [claimed_from(tx.one("outbox_get", (pos,))) for pos, _ in found]


def settle(tx: Transaction, tally: Tally, s: Settlement, now: float) -> bool:
    """Write one end; False where the claim is no longer ours."""
    ended = s.state in ENDED
    blocks = not (ended or s.asked)
    row = tx.one(
        "outbox_settle",
        (
            s.claim.pos,
            s.claim.nonce,
            s.state.value,
            s.due,
            s.receipt,
            orjson.dumps(s.result) if s.result is not None else None,
            s.error,
            now if ended else None,
            int(blocks),
            int(s.possible_duplicate),
            int(s.unclear),
        ),
    )
    if row is None:
        return False
    tenant, session, lane, unwanted = row
    tx.notice.touched.add(SessionRef(tenant, session))
    if not blocks:
        tx.run("outbox_promote", (tenant, session, lane))
        tx.notice.outbox = True
    if unwanted and s.state is EffectState.RETRY:
        # Withdrawn while it was under way: nothing is tried again.
        withdraw(tx, SessionRef(tenant, session), [s.claim.effect.effect_id], now)
    if s.state is EffectState.UNKNOWN:
        tx.notice.unknown = True
    if not blocks and not unwanted and (s.claim.effect.then or s.outcome == "void"):
        _tell(tx, tally, s, now)
    return True


def _open(tx: Transaction, claim: Claimed) -> bool:
    """Whether the effect's run is the session's open one; while a person answers, it is open and set aside."""
    key = (claim.tenant, claim.session)
    run = tx.one("session_run", key)
    return run is not None and (run[0] == claim.run_id or (not run[0] and bool(tx.one("session_person", key)[0])))


def _tell(tx: Transaction, tally: Tally, s: Settlement, now: float) -> None:
    """The outcome becomes an event of its session, in the transaction that settles the effect."""
    claim = s.claim
    rank = Rank.RUN if claim.run_id and _open(tx, claim) else Rank.REST
    data = {
        "effect_id": claim.effect.effect_id,
        "then": claim.effect.then,
        "outcome": "asked" if s.asked else s.outcome or s.state.value,
        "result": s.result,
        "error": s.error,
        "receipt": s.receipt,
        "external_id": claim.external_id,
        "summary": claim.effect.summary,
        "approval": claim.effect.approval,
        "facts": dict(s.facts),
        "epoch": claim.epoch,
    }
    event = Event(
        tenant=claim.tenant,
        source="outbox",
        id=f"{claim.effect.effect_id}.{claim.attempts}.{data['outcome']}",
        type=f"effect.{data['outcome']}",
        session=claim.session,
        agent=claim.agent,
        data=data,
        time=now,
        kind=Kind.OUTCOME,
        rank=rank,
        reply_route=claim.effect.route,
    )
    arrive(tx, tally, event, now)
