"""An effect: a side effect outside, always an outbox row, with one id and one idempotency key for life."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from sessionstore.event import ReplyRoute


class EffectState(StrEnum):
    """States of design 9; `sending` is durable before the first byte leaves."""

    PENDING = "pending"
    SENDING = "sending"
    RETRY = "retry"
    UNKNOWN = "unknown"
    DELIVERED = "delivered"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


ENDED: Final = frozenset({EffectState.DELIVERED, EffectState.FAILED, EffectState.EXPIRED, EffectState.CANCELLED})

_S = EffectState
TRANSITIONS: Final[Mapping[EffectState, frozenset[EffectState]]] = MappingProxyType(
    {
        # retry: what it is bound to could not be looked at
        _S.PENDING: frozenset({_S.SENDING, _S.RETRY, _S.EXPIRED, _S.CANCELLED, _S.FAILED}),
        # expired and cancelled: marked, then at the last look before the first byte not sent after all
        _S.SENDING: frozenset({_S.DELIVERED, _S.RETRY, _S.UNKNOWN, _S.FAILED, _S.EXPIRED, _S.CANCELLED}),
        # unknown: not sent again after all, and an earlier attempt may have done it
        _S.RETRY: frozenset({_S.SENDING, _S.RETRY, _S.UNKNOWN, _S.EXPIRED, _S.CANCELLED, _S.FAILED}),
        _S.UNKNOWN: frozenset({_S.DELIVERED, _S.RETRY, _S.UNKNOWN, _S.FAILED, _S.EXPIRED, _S.CANCELLED}),
        _S.DELIVERED: frozenset(),
        _S.FAILED: frozenset({_S.RETRY}),  # an operator's resend
        _S.EXPIRED: frozenset({_S.RETRY}),
        _S.CANCELLED: frozenset(),
    }
)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a closing commit writes to the outbox.

    `lane` is the destination: effects of one (session, lane) leave strictly in order, one in flight.
    `then` names the continuation that gets the outcome; empty: the receipt is absorbed by the next commit.
    `binds` are the facts, with values, that must still hold when it is sent; `approval` is the wait they came from.
    `expires_at`: not sent by then, it expires (unix seconds).
    """

    effect_id: str
    adapter: str
    lane: str
    target: Mapping[str, Any]
    body: Mapping[str, Any]
    summary: str = ""
    then: str = ""
    binds: Mapping[str, Any] = field(default_factory=dict)
    approval: str = ""
    expires_at: float | None = None
    route: ReplyRoute | None = None  # the turn's; it travels with the outcome
    on_unknown: str = "ask"  # ask | resend | drop: when neither class nor look-up can decide


@dataclass(frozen=True, slots=True)
class Claimed:
    """An outbox row under a claim: `nonce` guards every write about it, `until` is when others may take it."""

    pos: int
    tenant: str
    session: str
    agent: str
    epoch: int
    run_id: str
    turn_id: str
    effect: Effect
    state: EffectState
    attempts: int
    nonce: str
    until: float
    created_at: float
    sent_at: float | None
    external_id: str
    unwanted: bool
    error: str
    checks: int  # how often it was looked at while unknown
    unclear: bool = False  # an earlier attempt may have done it: nobody can say by himself that it was not done


@dataclass(frozen=True, slots=True)
class Settlement:
    """What became of a claimed effect; `due` matters for retry and unknown.

    `outcome` is the word that the session gets (`delivered`, `failed`, `void`, ...) when it asked for one.
    `asked` takes an unknown effect off the head of its lane while a person decides.
    """

    claim: Claimed
    state: EffectState
    due: float | None = None
    receipt: str = ""
    result: Any = None
    error: str = ""
    outcome: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    possible_duplicate: bool = False
    unclear: bool = False  # what was tried up to now may have done it
    asked: bool = False
    reason: str = ""
