"""Effects that are not wanted any more, inside the transaction that says so."""

from collections.abc import Sequence

from sessionstore.effect import EffectState
from sessionstore.inbox import SessionRef
from sessionstore.intervention import Withdrawn
from sessionstore.sqlite.database import Transaction


def withdraw(tx: Transaction, ref: SessionRef, effect_ids: Sequence[str], now: float) -> list[Withdrawn]:
    """Pending ones, and retries that surely did nothing, are cancelled; the others may be looked up, never resent.

    What has ended is left as it is. The session is not told: whoever withdraws writes that down.
    """
    out: list[Withdrawn] = []
    lanes: set[str] = set()
    for effect_id in effect_ids:
        before = tx.one("outbox_withdrawable", (ref.tenant, ref.session, effect_id))
        if before is None:
            continue
        state, lane = tx.one("outbox_withdraw", (now, effect_id))
        out.append(Withdrawn(effect_id, EffectState(before[0]), EffectState(state)))
        lanes.add(lane)
    for lane in lanes:
        if tx.one("outbox_lane_busy", (ref.tenant, ref.session, lane)) is None:
            tx.run("outbox_demote", (ref.tenant, ref.session, lane))
            tx.run("outbox_promote", (ref.tenant, ref.session, lane))
    if out:
        tx.notice.outbox = True
        tx.notice.unknown = True
    return out
