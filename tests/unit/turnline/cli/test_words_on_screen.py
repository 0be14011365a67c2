"""Times, spans and text on the screen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionstore.errors import BadInput
from turnline.cli.screen import clean, line, to_json
from turnline.cli.times import ago, moment, span


@pytest.mark.parametrize(
    ("length_s", "said"),
    [(0, "0ms"), (0.34, "340ms"), (1, "1s"), (60, "1m"), (61, "1m 1s"), (3600, "1h"), (3605, "1h"), (90_000, "1d 1h")],
)
def test_a_span_has_its_two_largest_units(length_s: float, said: str) -> None:
    assert span(length_s) == said


def test_ages_look_both_ways() -> None:
    assert [ago(at, 100.0) for at in (None, 100.0, 40.0, 160.0)] == ["", "now", "1m ago", "in 1m"]


def test_a_moment_is_an_iso_time_or_how_long_ago() -> None:
    assert moment("1970-01-01T01:00", 0.0) == 3600.0
    assert moment("1970-01-01T01:00+01:00", 9e9) == 0.0
    assert moment("2h", 10_000.0) == 2_800.0
    with pytest.raises(BadInput, match="neither a time nor a duration"):
        moment("soon", 0.0)


@given(st.text())
def test_no_text_can_steer_a_terminal(text: str) -> None:
    assert not any(c in clean(text) for c in "\x1b\x9b\x07\r\u202e\u2066\x00")


@given(st.text(), st.integers(min_value=2, max_value=50))
def test_a_line_is_one_line_of_at_most_its_length(text: str, length_max: int) -> None:
    assert len(line(text, length_max)) <= length_max
    assert len(line(text).splitlines()) <= 1


def test_json_takes_bytes_that_are_no_text() -> None:
    assert to_json({"raw": b"\xff"}) == '{\n  "raw": "\\\\xff"\n}'
