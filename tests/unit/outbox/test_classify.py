"""Each answer, and each way of getting none, says one thing about whether the effect was done."""

import asyncio
import ssl
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from yarl import URL

from outbox.adapter import Delivered, NotSent, Rejected, Unknown
from outbox.classify import RETRY_AFTER_MAX_S, classify_exception, classify_status, retry_after_s
from outbox.egress import EgressRefused

NOW = 1_800_000_000.0  # Fri, 15 Jan 2027 08:00:00 GMT
KEY = ConnectionKey("h", 443, True, True, None, None, None, None)
REFUSED = ConnectionRefusedError(111, "refused")


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ([200, 201, 202, 204, 299], Delivered),
        ([300, 301, 302, 304, 307, 308], Rejected),
        ([303], Unknown),
        ([400, 401, 403, 404, 405, 409, 410, 413, 418, 422, 431, 499], Rejected),
        ([408], Unknown),
        ([425, 429], NotSent),
        ([500, 501, 502, 503, 504, 599], Unknown),
        ([0, 100, 101, 103, 199, 600, 999], Unknown),
    ],
)
def test_a_status_has_one_meaning(statuses: list[int], kind: type) -> None:
    assert {type(classify_status(status, {}, NOW)) for status in statuses} == {kind}


def test_receipt_and_result_are_passed_on() -> None:
    assert classify_status(201, {}, NOW, receipt="j1", result={"a": 1}) == Delivered("j1", {"a": 1})
    rejected = classify_status(422, {}, NOW, result={"a": 1})
    assert rejected == Rejected("HTTP 422", {"a": 1})


def test_what_was_not_sent_may_be_sent_again_and_waits_as_asked() -> None:
    result = classify_status(429, CIMultiDict({"retry-after": "7"}), NOW)
    assert result == NotSent("HTTP 429", retry_after_s=7.0)
    assert classify_status(429, {}, NOW) == NotSent("HTTP 429")


def test_a_conflict_on_a_repeated_key_is_not_taken_for_a_no() -> None:
    assert isinstance(classify_status(409, {}, NOW, repeated_key=True), Unknown)


@pytest.mark.parametrize(
    ("value", "wait_s"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("0", 0),
        ("12", 12),
        (" 0.65 ", 0.65),
        ("-5", 0),
        ("999999999999", RETRY_AFTER_MAX_S),
        ("1e400", RETRY_AFTER_MAX_S),
        ("Fri, 15 Jan 2027 08:02:00 GMT", 120),
        ("Friday, 15-Jan-27 08:02:00 GMT", 120),
        ("Fri, 15 Jan 2027 08:02:00", 120),
        ("Fri, 15 Jan 2027 10:02:00 +0200", 120),
        ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
        ("Fri, 15 Jan 2077 07:00:00 GMT", RETRY_AFTER_MAX_S),
        ("Fri, 35 Jan 2027 08:02:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_is_clamped(value: str | None, wait_s: float | None) -> None:
    assert retry_after_s(value, NOW) == wait_s


@given(st.text(max_size=40))
def test_no_retry_after_raises_or_leaves_its_bounds(value: str) -> None:
    wait_s = retry_after_s(value, NOW)
    assert wait_s is None or 0 <= wait_s <= RETRY_AFTER_MAX_S


@pytest.mark.parametrize(
    "error",
    [
        aiohttp.ClientConnectorError(KEY, REFUSED),
        aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "no such name")),
        aiohttp.ClientConnectorSSLError(KEY, ssl.SSLError("handshake")),
        aiohttp.ClientConnectorCertificateError(KEY, ssl.CertificateError("expired")),
        aiohttp.ClientProxyConnectionError(KEY, REFUSED),
        aiohttp.ServerFingerprintMismatch(b"a", b"b", "h", 443),
        aiohttp.ConnectionTimeoutError("connect"),
    ],
)
def test_without_a_connection_nothing_was_sent(error: Exception) -> None:
    result = classify_exception(error)
    assert isinstance(result, NotSent)
    assert not result.permanent
    assert type(error).__name__ in result.reason


@pytest.mark.parametrize(
    "error", [EgressRefused("private"), aiohttp.InvalidURL("x"), aiohttp.NonHttpUrlClientError(URL("ftp://x"))]
)
def test_a_url_that_may_not_be_called_never_will_be(error: Exception) -> None:
    result = classify_exception(error)
    assert isinstance(result, NotSent)
    assert result.permanent


@pytest.mark.parametrize(
    "error",
    [
        aiohttp.ServerDisconnectedError(),
        aiohttp.ClientPayloadError("cut"),
        aiohttp.ClientOSError(104, "reset"),
        aiohttp.ClientConnectionResetError("closing transport"),
        aiohttp.SocketTimeoutError("read"),
        aiohttp.ServerTimeoutError("read"),
        TimeoutError(),
        asyncio.IncompleteReadError(b"", 1),
        ConnectionResetError(),
        BrokenPipeError(),
        aiohttp.ClientConnectionError("closed"),
        RuntimeError("anything else"),
    ],
)
def test_once_bytes_may_have_left_nothing_is_known(error: Exception) -> None:
    assert isinstance(classify_exception(error), Unknown)


def test_a_reason_is_never_long() -> None:
    result: Any = classify_exception(TimeoutError("x" * 10_000))
    assert len(result.reason) <= 300
