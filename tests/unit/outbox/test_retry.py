"""A failed send is tried again later and later, and given up for a stated reason."""

from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbox.adapter import Delivered, Idempotency, Limits, NotSent, Rejected, SendResult, Unknown
from outbox.retry import (
    DEFAULT_BACKOFF,
    Backoff,
    MarkUnknown,
    NextStep,
    RetryAt,
    Settle,
    after_attempt,
    backoff_s,
    before_attempt,
    expires_at,
    not_said_undone,
)
from sessionstore.effect import TRANSITIONS, EffectState

LIMITS = Limits(attempts_max=3, ttl_s=1_000)
CREATED = 5_000.0


def step(result: SendResult, attempt: int = 1, age_s: float = 10) -> NextStep:
    return after_attempt(result, attempt, LIMITS, expires_at(CREATED, LIMITS), CREATED + age_s, Random(1))


def test_done_is_delivered_with_its_receipt() -> None:
    assert step(Delivered("r1", {"a": 1})) == Settle(EffectState.DELIVERED, receipt="r1", result={"a": 1})


def test_a_final_no_fails_at_once() -> None:
    assert step(Rejected("HTTP 422", {"a": 1})) == Settle(EffectState.FAILED, "HTTP 422", result={"a": 1})
    assert step(NotSent("bad URL", permanent=True)) == Settle(EffectState.FAILED, "bad URL")


@pytest.mark.parametrize(("attempt", "age_s"), [(1, 10), (3, 10), (99, 10), (1, 99_999)])
def test_unknown_is_never_retried_failed_or_expired_here(attempt: int, age_s: float) -> None:
    assert step(Unknown("reset"), attempt, age_s) == MarkUnknown("reset")


def test_what_was_not_sent_is_retried_until_its_attempts_are_used_up() -> None:
    assert isinstance(step(NotSent("refused"), attempt=2), RetryAt)
    given_up = step(NotSent("refused"), attempt=3)
    assert given_up == Settle(EffectState.FAILED, "given up after 3 attempts: refused")


def test_the_other_side_is_not_asked_earlier_than_it_said() -> None:
    result = step(NotSent("HTTP 429", retry_after_s=100))
    assert isinstance(result, RetryAt)
    assert CREATED + 110 < result.due <= CREATED + 111


def test_a_retry_that_would_come_due_too_late_expires_now() -> None:
    result = step(NotSent("HTTP 429", retry_after_s=2_000))
    assert isinstance(result, Settle)
    assert result.state is EffectState.EXPIRED
    assert "HTTP 429" in result.reason


def test_it_expires_by_its_adapter_or_earlier_by_its_own_word() -> None:
    assert expires_at(CREATED, LIMITS) == 6_000
    assert expires_at(CREATED, LIMITS, 5_500) == 5_500
    assert expires_at(CREATED, LIMITS, 9_000) == 6_000


def test_an_expired_effect_is_not_sent() -> None:
    assert before_attempt(6_000, 5_999.9) is None
    assert before_attempt(6_000, 6_000) == Settle(EffectState.EXPIRED, "it was not sent before it expired")
    assert isinstance(before_attempt(6_000, 6_000, unclear=True), MarkUnknown)


@pytest.mark.parametrize("result", [NotSent("no route", permanent=True), Rejected("HTTP 422")])
@pytest.mark.parametrize("idempotency", list(Idempotency))
def test_after_an_unclear_attempt_only_a_receiver_that_knows_the_key_can_say_no(
    result: SendResult, idempotency: Idempotency
) -> None:
    limits = Limits(idempotency=idempotency)
    knows = idempotency is Idempotency.NATIVE and isinstance(result, Rejected)
    told = not_said_undone(Settle(EffectState.FAILED, "no"), result, limits)
    assert isinstance(told, Settle if knows else MarkUnknown)


@pytest.mark.parametrize("after", [Settle(EffectState.DELIVERED), RetryAt(9.0, "refused"), MarkUnknown("reset")])
def test_after_an_unclear_attempt_what_is_not_an_end_without_success_stays(after: NextStep) -> None:
    assert not_said_undone(after, NotSent("refused"), Limits()) == after


@given(attempt=st.integers(1, 10_000), seed=st.integers(0, 1_000), factor=st.floats(1, 10))
def test_a_delay_lies_between_half_and_all_of_its_ceiling(attempt: int, seed: int, factor: float) -> None:
    backoff = Backoff(first_s=2, factor=factor, cap_s=500)
    beyond = (attempt - 1) * log(factor) > 20
    ceiling_s = 500.0 if beyond else min(500.0, 2 * factor ** (attempt - 1))
    delay_s = backoff_s(attempt, Random(seed), backoff)
    assert ceiling_s / 2 * 0.999 <= delay_s <= ceiling_s * 1.001


def test_delays_grow_and_are_spread() -> None:
    random = Random(7)
    delays = [[backoff_s(attempt, random) for _ in range(50)] for attempt in range(1, 8)]
    means = [sum(some) / len(some) for some in delays]
    assert means == sorted(means)
    assert all(len(set(some)) == 50 for some in delays)
    assert max(delays[-1]) <= DEFAULT_BACKOFF.cap_s


def test_every_state_that_follows_an_attempt_is_a_known_transition() -> None:
    results = [Delivered(""), Rejected(""), NotSent("", permanent=True)]
    states = {outcome.state for outcome in map(step, results) if isinstance(outcome, Settle)}
    assert states <= TRANSITIONS[EffectState.SENDING]
