"""Writing a turn's effects and waits, inside the transaction that decided on them."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from sessionstore.commit import HandOver
from sessionstore.effect import Claimed, Effect, EffectState
from sessionstore.inbox import SessionRef
from sessionstore.sqlite.arrivals import route_json
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Transaction
from sessionstore.wait import Wait


@dataclass(frozen=True, slots=True)
class Origin:
    """Who decided on it: a turn, or an operator's action."""

    ref: SessionRef
    agent: str
    epoch: int
    turn_id: str
    run_id: str


def put_effects(
    tx: Transaction, tally: Tally, origin: Origin, effects: Sequence[Effect], hand_over: HandOver | None, now: float
) -> tuple[Claimed, ...]:
    """Insert them in order; returns those that were claimed for the turn's own relay."""
    handed: list[Claimed] = []
    lanes: set[str] = set()
    for effect in effects:
        taker = hand_over if _may_hand_over(tx, origin, hand_over, effect, lanes) else None
        lanes.add(effect.lane)
        pos = _insert(tx, origin, effect, now, taker)
        if taker is None:
            tx.notice.outbox = True
        else:
            handed.append(_claimed(origin, effect, pos, now, taker))
    tally.add(origin.ref.tenant, "intended", now, len(effects))
    return tuple(handed)


def put_waits(tx: Transaction, origin: Origin, waits: Sequence[Wait], closed: Sequence[str], now: float) -> None:
    """Insert questions and timers, and end those that are not awaited any more."""
    rows = [
        (
            w.wait_id,
            origin.ref.tenant,
            origin.ref.session,
            origin.agent,
            origin.epoch,
            origin.turn_id,
            w.kind,
            w.then,
            w.question,
            orjson.dumps(w.options),
            orjson.dumps(w.binds),
            orjson.dumps(w.data),
            int(w.priority),
            route_json(w.route),
            w.due if w.due is not None else w.expires_at,
            now,
        )
        for w in waits
    ]
    tx.run_many("wait_insert", rows)
    tx.run_many("wait_cancel", [(now, wait_id) for wait_id in closed])
    tx.notice.waits = tx.notice.waits or bool(rows)


def _may_hand_over(tx: Transaction, origin: Origin, taker: HandOver | None, effect: Effect, lanes: set[str]) -> bool:
    """Only the head of an idle lane, with nothing to look at before it is sent."""
    if taker is None or effect.effect_id not in taker.effect_ids or effect.binds or effect.lane in lanes:
        return False
    ref = origin.ref
    return tx.one("outbox_lane_open", (ref.tenant, ref.session, effect.lane)) is None


def _insert(tx: Transaction, origin: Origin, x: Effect, now: float, taker: HandOver | None) -> int:
    ref = origin.ref
    sending = taker is not None
    row = (
        ref.tenant,
        ref.session,
        x.effect_id,
        origin.agent,
        origin.epoch,
        origin.run_id,
        origin.turn_id,
        x.lane,
        x.adapter,
        orjson.dumps(x.target),
        orjson.dumps(x.body),
        x.summary,
        x.then,
        orjson.dumps(x.binds) if x.binds else None,
        x.approval,
        route_json(x.route),
        x.on_unknown,
        None if sending else 0.0,  # at once, however the clock is set meanwhile
        x.expires_at,
        now,
        EffectState.SENDING.value if sending else EffectState.PENDING.value,
        int(sending),
        taker.nonce if taker else None,
        now + taker.ttl_s if taker else None,
        now if sending else None,
    )
    return tx.run("outbox_insert", row).lastrowid or 0


def _claimed(origin: Origin, effect: Effect, pos: int, now: float, taker: HandOver) -> Claimed:
    return Claimed(
        pos=pos,
        tenant=origin.ref.tenant,
        session=origin.ref.session,
        agent=origin.agent,
        epoch=origin.epoch,
        run_id=origin.run_id,
        turn_id=origin.turn_id,
        effect=effect,
        state=EffectState.SENDING,
        attempts=1,
        nonce=taker.nonce,
        until=now + taker.ttl_s,
        created_at=now,
        sent_at=now,
        external_id="",
        unwanted=False,
        error="",
        checks=0,
    )
