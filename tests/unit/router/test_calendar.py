"""Schedules fire at the instants that cron users expect, daylight saving included, and what was missed is planned."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.calendar import (
    DUE_MAX,
    Cron,
    Every,
    Misfire,
    Plan,
    due_between,
    fire_id,
    misfire_of,
    next_after,
    parse_schedule,
    plan_fires,
)
from sessionstore.errors import BadSettings

BERLIN = "Europe/Berlin"
SPRING = "2027-03-28"  # 02:00 becomes 03:00
AUTUMN = "2027-10-31"  # 03:00 becomes 02:00


def at(text: str, tz: str = "UTC", *, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(tz), fold=fold).timestamp()


def fires(text: str, tz: str, start: str, end: str) -> list[str]:
    """Local wall times with their offsets, from local `start` up to `end`."""
    schedule = parse_schedule(text, tz)
    found = due_between(schedule, at(start, tz) - 1, at(end, tz))
    return [datetime.fromtimestamp(nominal, ZoneInfo(tz)).strftime("%d %H:%M %z") for nominal in found]


def test_a_time_in_the_spring_gap_fires_once_at_its_end() -> None:
    assert fires("30 2 * * *", BERLIN, "2027-03-27T12:00", "2027-03-29T12:00") == ["28 03:00 +0200", "29 02:30 +0200"]
    assert fires("15,45 2 * * *", BERLIN, f"{SPRING}T00:00", f"{SPRING}T23:59") == ["28 03:00 +0200"]


def test_a_time_that_comes_twice_in_autumn_fires_once_the_first_time() -> None:
    assert fires("30 2 * * *", BERLIN, f"{AUTUMN}T00:00", "2027-11-01T12:00") == ["31 02:30 +0200", "01 02:30 +0100"]
    assert fires("15,45 2 * * *", BERLIN, f"{AUTUMN}T00:00", f"{AUTUMN}T23:59") == ["31 02:15 +0200", "31 02:45 +0200"]


def test_every_second_hour_skips_the_missing_hour() -> None:
    assert fires("0 */2 * * *", BERLIN, f"{SPRING}T00:00", f"{SPRING}T06:00") == [
        "28 00:00 +0100",
        "28 04:00 +0200",
        "28 06:00 +0200",
    ]


@pytest.mark.parametrize("day", [SPRING, AUTUMN])
def test_star_minutes_follow_real_time_across_both_changes(day: str) -> None:
    start = at(f"{day}T00:00", BERLIN)
    found = due_between(parse_schedule("*/30 * * * *", BERLIN), start, start + 6 * 3_600)
    assert {later - earlier for earlier, later in pairwise(found)} == {1_800.0}
    assert len(found) == 12


def test_midnight_in_a_gap_fires_at_one() -> None:
    found = fires("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00", "2018-11-05T12:00")
    assert found == ["04 01:00 -0200", "05 00:00 -0200"]


def test_a_missing_day_fires_at_the_start_of_the_next() -> None:
    assert fires("0 9 * * *", "Pacific/Apia", "2011-12-29T08:00", "2011-12-31T12:00") == [
        "29 09:00 -1000",
        "31 00:00 +1400",
        "31 09:00 +1400",
    ]


def test_day_of_month_or_weekday_is_enough_when_both_are_restricted() -> None:
    found = fires("0 0 13 * 5", "UTC", "2027-08-01T00:00", "2027-08-21T00:00")
    assert found == ["06 00:00 +0000", "13 00:00 +0000", "20 00:00 +0000"]
    assert fires("0 0 13 * 5", "UTC", "2027-09-12T00:00", "2027-09-14T00:00") == ["13 00:00 +0000"]


def test_asked_from_the_second_pass_of_an_hour_it_never_answers_with_the_first() -> None:
    schedule = parse_schedule("15,45 2 * * *", BERLIN)
    second_pass = at(f"{AUTUMN}T02:30", BERLIN, fold=1)
    assert next_after(schedule, second_pass) == at("2027-11-01T02:15", BERLIN)


SCHEDULES = [
    "30 2 * * *",
    "15,45 2 * * *",
    "0 */2 * * *",
    "*/30 * * * *",
    "0 9 * * MON-FRI",
    "0 0 1 * *",
    "* 2 * * *",
    "7 * * * *",
    "0 0 13 * 5",
    "every 7m",
    "@hourly",
]
ZONES = [BERLIN, "America/Sao_Paulo", "Australia/Lord_Howe", "America/Havana", "UTC", "Asia/Kolkata"]


@given(
    text=st.sampled_from(SCHEDULES),
    tz=st.sampled_from(ZONES),
    day=st.sampled_from([SPRING, AUTUMN, "2027-04-04", "2027-11-07", "2018-11-04", "2018-02-18", "2027-03-14"]),
    offset_s=st.integers(-40_000, 40_000) | st.floats(-40_000, 40_000),
)
def test_the_next_instant_depends_only_on_the_instant_asked_from(text: str, tz: str, day: str, offset_s: float) -> None:
    schedule = parse_schedule(text, tz)
    asked = at(f"{day}T02:00") + offset_s
    earlier = due_between(schedule, asked - 200_000, asked + 3_000_000)
    found = next_after(schedule, asked)
    assert found is not None
    assert found > asked
    assert found == next(nominal for nominal in earlier if nominal > asked)
    assert list(earlier) == sorted(set(earlier))


@pytest.mark.parametrize(
    ("alias", "fields"), [("@daily", "0 0 * * *"), ("@hourly", "0 * * * *"), ("@Weekly", "0 0 * * SUN")]
)
def test_an_alias_means_its_five_fields(alias: str, fields: str) -> None:
    start = at("2027-05-05T05:05")
    assert next_after(parse_schedule(alias, BERLIN), start) == next_after(parse_schedule(fields, BERLIN), start)


@pytest.mark.parametrize(("text", "interval_s"), [("every 15m", 900), ("every 1h30m", 5_400), ("every 1d 6h", 108_000)])
def test_an_interval_counts_from_the_epoch_so_that_a_restart_does_not_shift_it(text: str, interval_s: int) -> None:
    schedule = parse_schedule(text, "UTC")
    assert schedule == Every(text, interval_s)
    found = due_between(schedule, 1_800_000_017.5, 1_800_000_017.5 + 3 * interval_s)
    assert [nominal % interval_s for nominal in found] == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0 0 31 2 *", "day-of-month"),
        ("0 0 */31 * 5#5", "never fires"),
        ("* * * * * *", "6 fields"),
        ("0 9 * *", "4 fields"),
        ("60 * * * *", "minute"),
        ("0 22-2 * * *", "hour"),
        ("0 0 * * FOO", "day-of-week"),
        ("@reboot", "@daily"),
        ("every", "interval"),
        ("every 5 minutes", "interval"),
        ("every 0s", "between"),
        ("every 999999999d", "between"),
        ("", "characters"),
        ("1," * 200 + "1 * * * *", "characters"),
    ],
)
def test_what_is_no_schedule_is_refused_and_the_setting_named(text: str, said: str) -> None:
    with pytest.raises(BadSettings, match=said) as caught:
        parse_schedule(text, BERLIN, where="cron.nightly.schedule")
    assert str(caught.value).startswith("cron.nightly.schedule: ")
    assert caught.value.hint


@pytest.mark.parametrize(
    "tz", ["", "America", "Europe/Nowhere", "../etc/passwd", "/etc/localtime", "localtime", "right/UTC", "a\0b"]
)
@pytest.mark.parametrize("text", ["@daily", "every 5m"])
def test_a_zone_is_required_and_must_exist(text: str, tz: str) -> None:
    with pytest.raises(BadSettings, match="zone"):
        parse_schedule(text, tz)


@given(st.text(max_size=30) | st.from_regex(r"[0-9*,/#\-LW@A-Z ]{1,30}", fullmatch=True))
def test_no_text_raises_anything_foreign_or_loops(text: str) -> None:
    try:
        schedule = parse_schedule(text, BERLIN)
    except BadSettings:
        return
    assert next_after(schedule, 1_800_000_000) is not None


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    assert misfire_of("run_all") is Misfire.RUN_ALL
    with pytest.raises(BadSettings) as caught:
        misfire_of("later")
    assert caught.value.hint == "Use one of skip, run_once, run_all."


HOURLY = parse_schedule("@hourly", "UTC")
NOON = at("2027-05-05T12:00")


def planned(policy: Misfire, *, last_h: float, late_s: float = 10, grace_s: float = 60, run_all_max: int = 100) -> Plan:
    """Plan at noon plus `late_s`, when the last fire was `last_h` hours before noon."""
    return plan_fires(HOURLY, NOON - last_h * 3_600, NOON + late_s, policy, grace_s, run_all_max)


@pytest.mark.parametrize("policy", Misfire)
def test_a_fire_in_time_is_made_whatever_the_policy(policy: Misfire) -> None:
    assert planned(policy, last_h=1) == Plan((NOON,), NOON + 3_600)
    assert planned(policy, last_h=1, late_s=60).fires == (NOON,)


@pytest.mark.parametrize("policy", Misfire)
def test_nothing_due_makes_nothing(policy: Misfire) -> None:
    assert planned(policy, last_h=0) == Plan((), NOON + 3_600)


def test_skip_drops_what_is_late_and_says_so() -> None:
    plan = planned(Misfire.SKIP, last_h=3, late_s=100)
    assert plan == Plan((), NOON + 3_600, skipped=(NOON - 7_200, NOON - 3_600, NOON))


def test_run_once_makes_the_newest_late_one() -> None:
    plan = planned(Misfire.RUN_ONCE, last_h=3, late_s=100)
    assert plan == Plan((NOON,), NOON + 3_600, skipped=(NOON - 7_200, NOON - 3_600))


def test_run_once_needs_no_extra_run_when_one_is_due_in_time() -> None:
    plan = planned(Misfire.RUN_ONCE, last_h=3)
    assert plan == Plan((NOON,), NOON + 3_600, skipped=(NOON - 7_200, NOON - 3_600))


def test_run_all_makes_every_late_one_oldest_first_up_to_its_maximum() -> None:
    assert planned(Misfire.RUN_ALL, last_h=3).fires == (NOON - 7_200, NOON - 3_600, NOON)
    plan = planned(Misfire.RUN_ALL, last_h=5, late_s=100, run_all_max=2)
    assert plan.fires == (NOON - 3_600, NOON)
    assert plan.skipped == (NOON - 4 * 3_600, NOON - 3 * 3_600, NOON - 2 * 3_600)
    assert planned(Misfire.RUN_ALL, last_h=5, late_s=100, run_all_max=0).fires == ()


@pytest.mark.parametrize("policy", Misfire)
def test_decades_of_missed_minutes_are_planned_at_once_and_the_rest_is_said_to_be_skipped(policy: Misfire) -> None:
    plan = plan_fires(parse_schedule("* * * * *", BERLIN), 0, NOON + 30, policy, 0)
    assert len(plan.fires) + len(plan.skipped) == DUE_MAX
    assert plan.skipped_more
    assert (plan.skipped + plan.fires)[-1] == NOON


def test_a_clock_that_jumped_back_plans_nothing_twice() -> None:
    plan = plan_fires(HOURLY, NOON, NOON - 7_200, Misfire.RUN_ALL, 60)
    assert plan == Plan((), NOON + 3_600)


@given(
    last_h=st.integers(0, 30), late_s=st.integers(0, 3_599), policy=st.sampled_from(Misfire), most=st.integers(0, 40)
)
def test_every_due_fire_is_made_or_listed_as_skipped_exactly_once(
    last_h: int, late_s: int, policy: Misfire, most: int
) -> None:
    plan = planned(policy, last_h=last_h, late_s=late_s, run_all_max=most)
    assert sorted(plan.fires + plan.skipped) == [NOON - hours * 3_600 for hours in reversed(range(last_h))]


def test_a_fire_is_named_by_its_nominal_utc_instant() -> None:
    schedule = parse_schedule("30 2 * * *", BERLIN)
    assert isinstance(schedule, Cron)
    nominal = next_after(schedule, at(f"{SPRING}T00:00", BERLIN))
    assert nominal is not None
    assert fire_id(nominal) == "2027-03-28T01:00:00Z"
