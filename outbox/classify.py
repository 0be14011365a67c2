"""What an HTTP answer, or the lack of one, says about whether the effect was done.

| seen | means | result |
| --- | --- | --- |
| no connection: refused, DNS, TLS, connect timeout, egress guard | no byte of the request left | NotSent |
| 2xx | done | Delivered |
| 425, 429 | the server says that it did nothing | NotSent, after Retry-After |
| 408, 5xx, anything below 200 | a proxy or a crash may hide that it was done | Unknown |
| 303 | often sent after the work was done | Unknown |
| other 3xx, other 4xx | a final no; redirects are not followed | Rejected |
| timeout, reset, disconnect, unreadable answer | the request may have arrived | Unknown |

A pooled connection that the server closed while it was idle looks like the last row: nothing proves that the request
was not read, so it is Unknown as well.
"""

import math
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from outbox.adapter import Delivered, NotSent, Rejected, SendResult, Unknown
from outbox.egress import EgressRefused

RETRY_AFTER_MAX_S = 3_600.0
REASON_LENGTH_MAX = 300

_NEVER_CONNECTED = (
    aiohttp.ClientConnectorError,  # refused, unreachable, DNS, TLS and certificate errors are its subclasses
    aiohttp.ConnectionTimeoutError,
    aiohttp.ServerFingerprintMismatch,
)
_NO_USABLE_URL = (EgressRefused, aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError)


def classify_status(
    status: int,
    headers: Mapping[str, str],
    now: float,
    *,
    receipt: str = "",
    result: Any = None,
    repeated_key: bool = False,
) -> SendResult:
    """Judge an answer by its status. `headers` is case-insensitive; `now` is in unix seconds, for Retry-After.

    `receipt` and `result` are passed on. `repeated_key`: an idempotency key that was sent before went along; then 409
    may mean that the first request is still under way (IETF draft "The Idempotency-Key HTTP Header Field", 2.7).
    """
    if 200 <= status < 300:
        return Delivered(receipt, result)
    if status in (425, 429):
        return NotSent(f"HTTP {status}", retry_after_s=retry_after_s(headers.get("Retry-After"), now))
    if status == 409 and repeated_key:
        return Unknown("HTTP 409 to a repeated idempotency key: the first request may still be under way")
    if status in (303, 408) or not 300 <= status < 500:
        return Unknown(f"HTTP {status}: it may have been done")
    if status < 400:
        return Rejected(f"HTTP {status}: redirects are not followed", result)
    return Rejected(f"HTTP {status}", result)


def classify_exception(error: Exception) -> NotSent | Unknown:
    """Judge a request that raised instead of being answered."""
    if isinstance(error, _NO_USABLE_URL):
        return NotSent(_described(error), permanent=True)
    if isinstance(error, _NEVER_CONNECTED):
        return NotSent(_described(error))
    return Unknown(_described(error))


def retry_after_s(value: str | None, now: float) -> float | None:
    """Seconds to wait by a Retry-After header: a number, fractions too, or an HTTP date (RFC 9110, 10.2.3).

    Between 0 (a date in the past) and `RETRY_AFTER_MAX_S`; None when it is missing or unreadable.
    """
    if value is None:
        return None
    wait_s = _seconds(value.strip(), now)
    if wait_s is None or math.isnan(wait_s):
        return None
    return min(max(wait_s, 0.0), RETRY_AFTER_MAX_S)


def _seconds(value: str, now: float) -> float | None:
    try:
        return float(value)
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _described(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return text[:REASON_LENGTH_MAX]
