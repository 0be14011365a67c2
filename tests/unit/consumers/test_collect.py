"""Collect: several messages become one turn, after a quiet moment and within a bound."""

from itertools import combinations_with_replacement

import pytest

from consumers.agent import QueuePolicy
from consumers.collect import collected, quiet_in
from tests.unit.consumers.rows import answered, message, row

POLICY = QueuePolicy("collect", quiet_s=1.0, wait_max_s=5.0, batch_max=4)


def test_messages_from_the_first_on_are_one_batch_in_order() -> None:
    rows = [row(3), row(1), row(2)]
    assert [r.pos for r in collected(rows, rows[2], POLICY)] == [2, 3]


def test_a_row_of_another_kind_or_type_ends_the_batch() -> None:
    rows = [row(1), row(2), row(3, answered("w1")), row(4)]
    assert [r.pos for r in collected(rows, rows[0], POLICY)] == [1, 2]
    rows = [row(1), row(2, message("x", type="order")), row(3)]
    assert [r.pos for r in collected(rows, rows[0], POLICY)] == [1]


def test_a_batch_is_bounded() -> None:
    rows = [row(n) for n in range(1, 10)]
    assert [r.pos for r in collected(rows, rows[0], POLICY)] == [1, 2, 3, 4]


@pytest.mark.parametrize(("now", "wait"), [(10.0, 1.0), (10.4, 0.6), (11.0, 0.0), (12.0, -1.0)])
def test_a_turn_starts_a_quiet_moment_after_the_last_message(now: float, wait: float) -> None:
    assert quiet_in([row(1, at=10.0)], POLICY, now) == pytest.approx(wait)


def test_each_message_makes_the_quiet_moment_start_anew() -> None:
    assert quiet_in([row(1, at=10.0), row(2, at=10.9)], POLICY, 11.0) == pytest.approx(0.9)


def test_somebody_who_never_stops_typing_is_answered_all_the_same() -> None:
    batch = [row(1, at=10.0), row(2, at=14.9)]
    assert quiet_in(batch, POLICY, 14.95) == pytest.approx(0.05)
    assert quiet_in(batch, POLICY, 15.0) <= 0


def test_a_full_batch_does_not_wait() -> None:
    assert quiet_in([row(n, at=10.0) for n in range(4)], POLICY, 10.0) <= 0


def test_no_wait_is_longer_than_the_bound() -> None:
    # Every case of up to three messages in whole seconds: the sums are exact.
    for size in (1, 2, 3):
        for arrivals in combinations_with_replacement(range(8), size):
            batch = [row(n, at=float(at)) for n, at in enumerate(arrivals)]
            for now in range(arrivals[-1], 15):
                assert quiet_in(batch, POLICY, float(now)) <= arrivals[0] + POLICY.wait_max_s - now
