"""The wall clock counts as steady since the process began, or since it was set."""

from dataclasses import dataclass

import pytest

from consumers.steadiness import Steadiness


@dataclass
class Hands:
    """A clock whose two hands are moved by the test."""

    wall: float = 1_000.0
    mono: float = 50.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.mono

    def both(self, seconds: float) -> None:
        self.wall += seconds
        self.mono += seconds


def test_it_is_steady_since_it_is_looked_at() -> None:
    hands = Hands()
    steadiness = Steadiness(hands)
    assert steadiness.steady_s() == 0
    hands.both(30)
    assert steadiness.steady_s() == 30


@pytest.mark.parametrize("set_by_s", [3_600.0, -40.0])
def test_setting_the_clock_begins_the_count_anew(set_by_s: float) -> None:
    hands = Hands()
    steadiness = Steadiness(hands)
    hands.both(30)
    hands.wall += set_by_s
    assert steadiness.steady_s() == 0
    hands.both(5)
    assert steadiness.steady_s() == 5


def test_slewing_does_not() -> None:
    hands = Hands()
    steadiness = Steadiness(hands)
    hands.both(30)
    hands.wall += 0.02
    assert steadiness.steady_s() == 30
