"""Which headers an outgoing request may carry: none that frames the message, names the host or smuggles a line."""

import re
from collections.abc import Mapping
from typing import Any, Final

HEADERS_MAX = 64
HEADER_LENGTH_MAX = 8_192

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.1
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_OURS: Final = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "idempotency-key",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    }
)


def header_problem(headers: Any) -> str:
    """What is wrong with a mapping of headers, empty when nothing is. Values never show up in the text."""
    if not isinstance(headers, Mapping):
        return "headers are not an object of texts"
    if len(headers) > HEADERS_MAX:
        return f"there are {len(headers)} headers; {HEADERS_MAX} may be sent"
    for name, value in headers.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            return f"{str(name)[:80]!r} is not a header name"
        if name.lower() in _OURS:
            return f"the header {name} cannot be set"
        if not isinstance(value, str) or not _VALUE.fullmatch(value) or len(value) > HEADER_LENGTH_MAX:
            return f"the value of the header {name} is not one line of printable ASCII"
    return ""
