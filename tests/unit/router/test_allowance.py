"""An allowance gives so many at once and so many a second, and never more."""

from router.allowance import Allowance
from router.working import Working


class Ticking:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


def test_a_burst_is_taken_at_once_and_then_the_rate_holds() -> None:
    clock = Ticking()
    allowance = Allowance(2.0, 3, clock)
    assert [allowance.take() for _ in range(4)] == [True, True, True, False]
    clock.at = 0.5
    assert [allowance.take() for _ in range(2)] == [True, False]


def test_a_long_silence_saves_up_no_more_than_a_burst() -> None:
    clock = Ticking()
    allowance = Allowance(2.0, 3, clock)
    clock.at = 1_000.0
    assert [allowance.take() for _ in range(4)] == [True, True, True, False]


def test_an_agent_works_from_the_arrival_to_the_commit_of_that_very_event() -> None:
    working = Working(60.0, Ticking())
    assert not working
    working.arrived([1])
    working.arrived([2])
    working.closed([1])
    assert working
    working.closed([2, 7])
    assert not working


def test_an_agent_is_not_said_to_work_for_longer_than_the_limit() -> None:
    clock = Ticking()
    working = Working(60.0, clock)
    working.arrived([1])
    clock.at = 59.0
    assert working
    clock.at = 60.0
    assert not working
