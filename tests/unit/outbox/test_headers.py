"""A header that could frame another message, or be taken for ours, is never sent."""

from typing import Any

import pytest

from outbox.headers import header_problem


def test_ordinary_headers_pass() -> None:
    assert header_problem({}) == ""
    assert header_problem({"Authorization": "Bearer x", "X-Trace": "a\tb", "accept": ""}) == ""


@pytest.mark.parametrize(
    "headers",
    [
        None,
        ["a"],
        {"": "x"},
        {"a b": "x"},
        {"a:": "x"},
        {"a\r\nb": "x"},
        {"é": "x"},
        {1: "x"},
        {"a": 1},
        {"a": None},
        {"a": "x\r\nHost: y"},
        {"a": "x\0"},
        {"a": "é"},
        {"a": "x" * 9_000},
        {f"h{number}": "x" for number in range(65)},
    ],
)
def test_what_is_not_one_line_of_text_under_a_token_is_refused(headers: Any) -> None:
    assert header_problem(headers)


@pytest.mark.parametrize("name", ["Host", "CONTENT-LENGTH", "transfer-encoding", "Idempotency-Key", "webhook-id", "TE"])
def test_headers_that_are_not_the_callers_are_refused(name: str) -> None:
    assert name in header_problem({name: "x"})


def test_a_secret_value_is_not_shown() -> None:
    assert "s3cret" not in header_problem({"Authorization": "s3cret\n"})
