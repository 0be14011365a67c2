"""JSON from outside: what could not be stored as it was sent is refused, and nothing else."""

import json
from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.jsonbody import DEPTH_MAX, Malformed, parse_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b"1e400", "not JSON"),
        (b'"\xff"', "not JSON"),
        (b'"\\ud83d"', "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"[" * 2_000 + b"]" * 2_000, "not JSON"),
        (b"[" * (DEPTH_MAX + 1) + b"]" * (DEPTH_MAX + 1), "nested"),
        (b'{"a":' * (DEPTH_MAX + 1) + b"1" + b"}" * (DEPTH_MAX + 1), "nested"),
        (b'{"id": 18446744073709551616}', "64 bits"),
        (b"-9223372036854775809", "64 bits"),
        (b"1" * 300, "64 bits"),
        (b"1" * 5_000, "not JSON"),
    ],
)
@pytest.mark.parametrize("unique", [False, True])
def test_what_cannot_be_kept_as_it_was_sent_is_refused(raw: bytes, told: str, unique: bool) -> None:
    with pytest.raises(Malformed, match=told) as caught:
        parse_json(raw, unique_names=unique)
    assert caught.value.status == 400
    assert caught.value.hint


@pytest.mark.parametrize(
    "raw", [b"18446744073709551615", b"-9223372036854775808", b"0.1234567890123456789012", b'"\\u0000"']
)
def test_what_just_fits_is_taken(raw: bytes) -> None:
    assert parse_json(raw) == parse_json(raw, unique_names=True) == orjson.loads(raw)


def test_the_deepest_body_that_is_taken_can_be_written_again_inside_others() -> None:
    value = parse_json(b"[" * DEPTH_MAX + b"]" * DEPTH_MAX)
    assert orjson.dumps({"a": {"b": {"c": value}}})


def test_brackets_in_text_are_no_nesting() -> None:
    assert parse_json(b'["' + b"[" * 1_000 + b'"]') == ["[" * 1_000]


def test_a_name_that_stands_twice_is_refused_where_a_signature_vouches_for_the_bytes() -> None:
    raw = b'{"a": [{"pr": 1, "pr": 2}]}'
    assert parse_json(raw) == {"a": [{"pr": 2}]}
    with pytest.raises(Malformed, match="twice"):
        parse_json(raw, unique_names=True)


def test_no_piece_of_the_body_is_told() -> None:
    with pytest.raises(Malformed) as caught:
        parse_json(b'{"password": "hunter2", }')
    assert "hunter2" not in str(caught.value)


@given(JSON, st.booleans())
def test_all_other_json_comes_through(value: object, unique: bool) -> None:
    assert parse_json(json.dumps(value).encode(), unique_names=unique) == orjson.loads(orjson.dumps(value))


@given(
    st.binary(max_size=200) | st.text(alphabet='[]{}",:1234567890eE.-\\u ', max_size=200).map(str.encode), st.booleans()
)
def test_nothing_foreign_is_raised(raw: bytes, unique: bool) -> None:
    with suppress(Malformed):
        parse_json(raw, unique_names=unique)
