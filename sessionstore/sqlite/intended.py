"""Writing a turn's effects to the outbox, inside its closing commit."""

import orjson

from sessionstore.commit import HandOver, TurnCommit
from sessionstore.effect import Claimed, Effect, EffectState
from sessionstore.sqlite.arrivals import route_json
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Transaction


def put_effects(
    tx: Transaction, tally: Tally, turn: TurnCommit, agent: str, epoch: int, now: float
) -> tuple[Claimed, ...]:
    """Insert them in order; returns those that were claimed for the turn's own relay."""
    handed: list[Claimed] = []
    lanes: set[str] = set()
    for effect in turn.effects:
        taker = turn.hand_over if _may_hand_over(tx, turn, effect, lanes) else None
        lanes.add(effect.lane)
        pos = _insert(tx, turn, effect, agent, epoch, now, taker)
        if taker is None:
            tx.notice.outbox = True
        else:
            handed.append(_claimed(turn, effect, pos, agent, epoch, now, taker))
    tally.add(turn.lease.ref.tenant, "intended", now, len(turn.effects))
    return tuple(handed)


def _may_hand_over(tx: Transaction, turn: TurnCommit, effect: Effect, lanes: set[str]) -> bool:
    """Only the head of an idle lane, with nothing to look at before it is sent."""
    taker = turn.hand_over
    if taker is None or effect.effect_id not in taker.effect_ids or effect.binds or effect.lane in lanes:
        return False
    ref = turn.lease.ref
    return tx.one("outbox_lane_open", (ref.tenant, ref.session, effect.lane)) is None


def _insert(
    tx: Transaction, turn: TurnCommit, x: Effect, agent: str, epoch: int, now: float, taker: HandOver | None
) -> int:
    ref = turn.lease.ref
    sending = taker is not None
    row = (
        ref.tenant,
        ref.session,
        x.effect_id,
        agent,
        epoch,
        turn.run_id,
        turn.turn_id,
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


def _claimed(
    turn: TurnCommit, effect: Effect, pos: int, agent: str, epoch: int, now: float, taker: HandOver
) -> Claimed:
    return Claimed(
        pos=pos,
        tenant=turn.lease.ref.tenant,
        session=turn.lease.ref.session,
        agent=agent,
        epoch=epoch,
        run_id=turn.run_id,
        turn_id=turn.turn_id,
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
