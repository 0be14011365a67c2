"""An HTTP effect is checked before it is sent, classed by the settings, and looked up by its declared words."""

from typing import Any

import orjson
import pytest
from yarl import URL

from outbox.adapter import (
    Absent,
    CannotTell,
    FailedThere,
    Idempotency,
    Limits,
    LookupResult,
    NotSent,
    Running,
    Succeeded,
)
from outbox.client import HttpClient
from outbox.egress import EgressPolicy
from outbox.http import HttpCall, HttpEffect, HttpLookup, HttpOrigin, read_call, read_lookup, read_state
from sessionstore.errors import BadSettings
from tests.unit.outbox.sendings import sending

POLICY = EgressPolicy()
NATIVE = Limits(idempotency=Idempotency.NATIVE, window_s=60)


def call_of(**wanted: Any) -> HttpCall:
    call = read_call({"url": "https://api.example.com/jobs", **wanted}, POLICY, 1_000)
    assert isinstance(call, HttpCall)
    return call


def lookup_of(external_id: str = "", **declared: Any) -> HttpLookup | CannotTell:
    target = {"url": "https://x.example.com", "lookup": {"url": "https://api.example.com/jobs/{key}", **declared}}
    return read_lookup(sending(target, {}, external_id=external_id), POLICY)


def state_of(answer: Any, **declared: Any) -> LookupResult:
    lookup = lookup_of(**declared)
    assert isinstance(lookup, HttpLookup)
    return read_state(lookup, answer if isinstance(answer, bytes) else orjson.dumps(answer))


def test_a_call_posts_json_unless_it_says_otherwise() -> None:
    call = call_of(json={"a": 1})
    assert (call.method, call.url, call.content) == ("POST", URL("https://api.example.com/jobs"), b'{"a":1}')
    assert call.headers["content-type"] == "application/json"
    assert call_of(method="DELETE").content is None
    assert call_of(json=None).content == b"null"
    assert call_of(json=1, headers={"content-type": "text/x"}).headers["Content-Type"] == "text/x"


@pytest.mark.parametrize(
    "wanted",
    [
        {"url": None},
        {"url": 3},
        {"url": "http://h:99999/"},
        {"url": "http://10.0.0.1/"},
        {"url": "ftp://example.com"},
        {"method": "TRACE"},
        {"method": "post"},
        {"method": ["POST"]},
        {"headers": {"Host": "x"}},
        {"headers": []},
        {"headers": None},
        {"json": {1: 2}},
        {"json": "x" * 1_000},
    ],
)
def test_what_can_never_be_sent_is_permanently_not_sent(wanted: dict[str, Any]) -> None:
    call = read_call({"url": "https://api.example.com/", **wanted}, POLICY, 1_000)
    assert isinstance(call, NotSent)
    assert call.permanent


def test_limits_come_from_the_origin_then_from_the_declared_look_up() -> None:
    adapter = HttpEffect([HttpOrigin("https://api.example.com", NATIVE)], HttpClient(), lambda: 0.0)
    assert adapter.limits_for({"url": "https://api.example.com:443/x"}) is NATIVE
    for url in ("http://api.example.com/", "https://api.example.com.evil.test/", "https://api.example.com:444/"):
        assert adapter.limits_for({"url": url}).idempotency is Idempotency.NONE
        assert adapter.limits_for({"url": url, "lookup": {}}).idempotency is Idempotency.LOOKUP
    for target in ({}, {"url": 1}, {"url": "//h/x"}, {"url": "http:///x"}, {"url": "x"}):
        assert adapter.limits_for(target).idempotency is Idempotency.NONE


@pytest.mark.parametrize("origin", ["", "api.example.com", "https://a/path", "ftp://a", "https://u@a", "https://a:x"])
def test_an_origin_is_scheme_host_and_port(origin: str) -> None:
    with pytest.raises(BadSettings, match="origin"):
        HttpEffect([HttpOrigin(origin)], HttpClient(), lambda: 0.0)


def test_an_origins_headers_are_checked_and_never_shown() -> None:
    origin = HttpOrigin("https://a.test", headers={"Authorization": "s3cret\n"})
    assert "s3cret" not in repr(origin)
    with pytest.raises(BadSettings) as caught:
        HttpEffect([origin], HttpClient(), lambda: 0.0)
    assert "s3cret" not in str(caught.value)


def test_a_look_ups_url_is_filled_in_and_escaped() -> None:
    lookup = lookup_of("a/b?c", url="https://api.example.com/jobs/{external_id}?key={key}")
    assert isinstance(lookup, HttpLookup)
    assert str(lookup.url) == "https://api.example.com/jobs/a%2Fb%3Fc?key=eff_1"


@pytest.mark.parametrize("declared", [{"url": "http://127.0.0.1/"}, {"url": 3}, {"headers": {"Host": "x"}}])
def test_a_look_up_that_may_not_be_sent_tells_nothing(declared: dict[str, Any]) -> None:
    assert isinstance(lookup_of(**declared), CannotTell)


def test_without_a_declared_look_up_nothing_can_be_told() -> None:
    assert isinstance(read_lookup(sending({"url": "https://a.test"}, {}), POLICY), CannotTell)


@pytest.mark.parametrize(
    ("answer", "declared", "found"),
    [
        ({"status": "succeeded", "id": 7}, {}, Succeeded({"status": "succeeded", "id": 7}, "7")),
        ({"status": "running", "id": "j"}, {}, Running("j")),
        ({"status": "failed"}, {}, FailedThere("status is 'failed'")),
        ({"job": {"state": "ok"}}, {"field": "job.state", "succeeded": ["ok"]}, Succeeded({"job": {"state": "ok"}})),
        ({"status": "queued"}, {"running": ["queued", "busy"]}, Running()),
        ({"status": "error"}, {"failed": "error"}, FailedThere("status is 'error'")),
    ],
)
def test_declared_words_are_read(answer: Any, declared: dict[str, Any], found: LookupResult) -> None:
    assert state_of(answer, **declared) == found


@pytest.mark.parametrize(
    "answer", [b"", b"<html>", b"\xff", [], None, {}, {"status": None}, {"status": ["succeeded"]}, {"status": "odd"}, 3]
)
def test_any_other_answer_tells_nothing(answer: Any) -> None:
    assert isinstance(state_of(answer), CannotTell)


def test_words_that_are_no_texts_match_nothing() -> None:
    assert isinstance(state_of({"status": "succeeded"}, succeeded=3, running=None, failed={}), CannotTell)
    assert state_of({"status": "x"}) != Absent()
