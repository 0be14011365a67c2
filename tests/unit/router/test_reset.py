"""Daily boundaries follow the wall clock of a named zone; silence is counted from people only."""

from datetime import datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.reset import Fresh, ResetPolicy, Stale, freshness
from sessionstore.errors import BadSettings

BERLIN = "Europe/Berlin"


def at(text: str, tz: str = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz), fold=fold).timestamp()


def judged(policy: ResetPolicy, now: float, started: float, last: float | None = None) -> Fresh | Stale:
    return freshness(policy, now=now, started=started, last_inbound=started if last is None else last)


@pytest.mark.parametrize(
    ("wall", "now", "boundary"),
    [
        (time(4), at("2027-06-02T03:59:59"), at("2027-06-01T04:00")),
        (time(4), at("2027-06-02T04:00"), at("2027-06-02T04:00")),
        (time(2, 30), at("2027-03-28T12:00"), at("2027-03-28T03:30")),  # skipped in spring: an hour later
        (time(2, 30), at("2027-10-31T02:45", fold=0), at("2027-10-31T02:30", fold=0)),
        (time(2, 30), at("2027-10-31T02:45", fold=1), at("2027-10-31T02:30", fold=0)),  # twice in autumn: once
        (time(0), at("2027-10-31T00:00"), at("2027-10-31T00:00")),
    ],
)
def test_the_daily_boundary_is_the_latest_one(wall: time, now: float, boundary: float) -> None:
    policy = ResetPolicy(daily_at=wall, tz=BERLIN)
    assert judged(policy, now, now) == Fresh(daily_at=boundary)
    assert judged(policy, now, boundary - 1) == Stale("daily", boundary)


def test_a_day_that_a_zone_leaves_out_does_no_harm() -> None:
    policy = ResetPolicy(daily_at=time(9), tz="Pacific/Apia")
    after = at("2011-12-31T10:00", "Pacific/Apia")
    assert judged(policy, after, after) == Fresh(daily_at=at("2011-12-31T09:00", "Pacific/Apia"))


def test_the_zone_decides_and_not_the_machine() -> None:
    now = at("2027-06-02T12:00", "UTC")
    for tz in ("UTC", BERLIN, "Asia/Kolkata", "America/Los_Angeles"):
        outcome = judged(ResetPolicy(daily_at=time(4), tz=tz), now, now)
        assert isinstance(outcome, Fresh)
        assert outcome.daily_at is not None
        assert datetime.fromtimestamp(outcome.daily_at, ZoneInfo(tz)).time() == time(4)


def test_silence_is_stale_after_and_not_at_its_end() -> None:
    policy = ResetPolicy(idle_s=60)
    assert judged(policy, 160, 100) == Fresh(idle_at=160)
    assert judged(policy, 160.001, 100) == Stale("idle", 160)
    assert judged(policy, 200, 100, last=190) == Fresh(idle_at=250)


def test_of_two_windows_the_one_that_ended_first_is_the_cause() -> None:
    policy = ResetPolicy(daily_at=time(4), idle_s=1800, tz="UTC")
    start = at("2027-06-01T03:50", "UTC")
    assert judged(policy, start + 3600, start) == Stale("daily", at("2027-06-01T04:00", "UTC"))
    earlier = at("2027-06-01T03:00", "UTC")
    assert judged(policy, earlier + 2 * 3600, earlier) == Stale("idle", earlier + 1800)


def test_clocks_that_differ_cost_no_history() -> None:
    policy = ResetPolicy(daily_at=time(4), idle_s=60, tz="UTC")
    now = at("2027-06-01T05:00", "UTC")
    assert isinstance(judged(policy, now, now + 500, last=now + 900), Fresh)


@given(st.floats(0, 4e9), st.floats(0, 4e9))
def test_without_windows_nothing_is_ever_stale(now: float, started: float) -> None:
    assert judged(ResetPolicy(), now, started) == Fresh()


@given(st.floats(1e9, 3e9), st.times(), st.sampled_from([BERLIN, "UTC", "America/Sao_Paulo", "Australia/Lord_Howe"]))
def test_a_boundary_lies_within_the_last_day_and_an_hour_or_so(now: float, wall: time, tz: str) -> None:
    outcome = judged(ResetPolicy(daily_at=wall, tz=tz), now, now)
    assert isinstance(outcome, Fresh)
    assert outcome.daily_at is not None
    assert 0 <= now - outcome.daily_at <= 26 * 3600


def test_windows_that_say_too_little_are_refused() -> None:
    for policy in [{"daily_at": time(4)}, {"idle_s": 0}, {"daily_at": time(4, tzinfo=ZoneInfo("UTC")), "tz": "UTC"}]:
        with pytest.raises(BadSettings) as refused:
            ResetPolicy(**policy)  # type: ignore[arg-type]
        assert refused.value.hint
