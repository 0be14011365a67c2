"""Durations: as people write them, in seconds."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.duration import DURATION_MAX_S, seconds
from sessionstore.errors import BadInput


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("90s", 90),
        ("15m", 900),
        ("2h", 7_200),
        ("3d", 259_200),
        ("1w", 604_800),
        ("250ms", 0.25),
        ("1h30m", 5_400),
        ("1.5h", 5_400),
        (" 2h ", 7_200),
        (0, 0),
        (1.5, 1.5),
        (timedelta(minutes=2), 120),
    ],
)
def test_a_duration_is_read(text: str | float | timedelta, value: float) -> None:
    assert seconds(text) == pytest.approx(value)


@pytest.mark.parametrize(
    "wrong",
    ["", " ", "h", "2", "2 hours", "2x", "-2h", "1h-30m", "1h,30m", "1h 30m x", "٢h", "1e3s", "inf", "nan"],
)
def test_what_is_no_duration_is_refused_with_an_example(wrong: str) -> None:
    with pytest.raises(BadInput) as refused:
        seconds(wrong)
    assert "2h" in refused.value.hint or "15m" in refused.value.hint


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), DURATION_MAX_S * 2, "5000w", timedelta(seconds=-1)])
def test_what_is_out_of_bounds_is_refused(wrong: str | float | timedelta) -> None:
    with pytest.raises(BadInput):
        seconds(wrong)


@given(st.integers(0, 1_000), st.sampled_from(["s", "m", "h"]), st.integers(0, 59), st.sampled_from(["ms", "s"]))
def test_parts_add_up(n: int, unit: str, k: int, small: str) -> None:
    assert seconds(f"{n}{unit}{k}{small}") == pytest.approx(seconds(f"{n}{unit}") + seconds(f"{k}{small}"))
