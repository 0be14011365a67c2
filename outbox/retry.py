"""When a failed send is tried again, and when it is given up: pure decisions, carried out by the relay.

Delays grow by a factor and carry "equal jitter" (half fixed, half random), so that senders who failed together do not
come back together, yet none comes back at once. Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
With the defaults the eighth and last attempt is made 26 to 53 minutes after the first.
"""

from dataclasses import dataclass
from random import Random
from typing import Any, assert_never

from outbox.adapter import Delivered, Idempotency, Limits, NotSent, Rejected, SendResult, Unknown
from sessionstore.effect import EffectState


@dataclass(frozen=True, slots=True)
class Backoff:
    """How delays grow: `first_s` after the first attempt, `factor` times more after each further one, up to `cap_s`."""

    first_s: float = 1.0
    factor: float = 4.0
    cap_s: float = 1_800.0


DEFAULT_BACKOFF = Backoff()


@dataclass(frozen=True, slots=True)
class Settle:
    """It has ended: delivered, failed or expired."""

    state: EffectState
    reason: str = ""
    receipt: str = ""
    result: Any = None


@dataclass(frozen=True, slots=True)
class RetryAt:
    """It was not done; try again at `due` (unix seconds)."""

    due: float
    reason: str


@dataclass(frozen=True, slots=True)
class MarkUnknown:
    """Nobody can say whether it was done; the reconciler has to look."""

    reason: str


NextStep = Settle | RetryAt | MarkUnknown


def backoff_s(attempt: int, random: Random, backoff: Backoff = DEFAULT_BACKOFF) -> float:
    """Seconds to wait after the attempt numbered `attempt` (the first is 1): between half and all of its ceiling."""
    ceiling_s = backoff.first_s
    for _ in range(attempt - 1):
        if ceiling_s >= backoff.cap_s or backoff.factor <= 1.0:
            break
        ceiling_s *= backoff.factor
    ceiling_s = min(ceiling_s, backoff.cap_s)
    return ceiling_s / 2 + random.uniform(0, ceiling_s / 2)


def expires_at(created_at: float, limits: Limits, effect_expires_at: float | None = None) -> float:
    """When an effect that was not sent expires: by its adapter's `ttl_s`, or earlier when it says so itself."""
    by_adapter = created_at + limits.ttl_s
    return by_adapter if effect_expires_at is None else min(by_adapter, effect_expires_at)


def before_attempt(expires: float, now: float, *, unclear: bool = False) -> Settle | MarkUnknown | None:
    """Whether an effect is too old to be sent: what follows, or None to go on. `unclear`: an earlier attempt may have
    done it."""
    if now < expires:
        return None
    if unclear:
        return MarkUnknown("no time is left to send it again, and it may have been done")
    return Settle(EffectState.EXPIRED, "it was not sent before it expired")


def after_attempt(
    result: SendResult,
    attempt: int,
    limits: Limits,
    expires: float,
    now: float,
    random: Random,
    backoff: Backoff = DEFAULT_BACKOFF,
) -> NextStep:
    """What follows from an attempt's result. `attempt` counts from 1; `expires` comes from `expires_at`.

    A retry that could only come due after `expires` expires at once: it would hold up its lane for nothing.
    """
    match result:
        case Delivered(receipt=receipt, result=value):
            return Settle(EffectState.DELIVERED, receipt=receipt, result=value)
        case Rejected(reason=reason, result=value):
            return Settle(EffectState.FAILED, reason, result=value)
        case Unknown(reason=reason):
            return MarkUnknown(reason)
        case NotSent(permanent=True, reason=reason):
            return Settle(EffectState.FAILED, reason)
        case NotSent() if attempt >= limits.attempts_max:
            return Settle(EffectState.FAILED, f"given up after {attempt} attempts: {result.reason}")
        case NotSent():
            # Added, not the larger of the two: whom one answer told the same wait must not come back together.
            wait_s = (result.retry_after_s or 0.0) + backoff_s(attempt, random, backoff)
            if now + wait_s >= expires:
                return Settle(EffectState.EXPIRED, f"no time is left for another attempt: {result.reason}")
            return RetryAt(now + wait_s, result.reason)
        case _:
            assert_never(result)


def not_said_undone(step: NextStep, result: SendResult, limits: Limits) -> NextStep:
    """The step, where an earlier attempt may have done it: that this attempt did not says nothing about that one.

    Only a receiver that does one key once answers for all attempts.
    """
    authoritative = isinstance(result, Rejected) and limits.idempotency is Idempotency.NATIVE
    if not isinstance(step, Settle) or step.state is EffectState.DELIVERED or authoritative:
        return step
    return MarkUnknown(f"an earlier attempt may have done it, and this one did not: {step.reason}")
