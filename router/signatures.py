"""Small verifiers over raw bytes: the answer is a value, whatever the bytes and headers are.

Vendors' libraries raise foreign exceptions on hostile input (a non-ASCII header, a malformed list item even when a
later item is good), accept SHA-1, or accept times far ahead; so they serve as oracles in tests only. The signature is
computed over the body as it came: decoding and encoding again changes bytes and breaks good signatures.
Comparison takes constant time; several secrets may be valid at once, so that they can be rotated.
"""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from outbox.signing import sign_github, sign_standard_webhooks, signing_key, v1_item

__all__ = [
    "Unverified",
    "Verdict",
    "Verified",
    "sign_github",
    "sign_standard_webhooks",
    "signing_key",
    "verify_github",
    "verify_standard_webhooks",
    "verify_token",
]

TOLERANCE_S = 300
TIMESTAMP_DIGITS_MAX = 15
_FAMILIES = ("webhook", "svix")


@dataclass(frozen=True, slots=True)
class Verified:
    """The signature fits. `secret_index` tells which secret did: when it is never the old one, that can go.

    `message_id` and `timestamp_s` are set where the scheme signs them; only then may they be trusted.
    """

    secret_index: int
    message_id: str = ""
    timestamp_s: int | None = None


@dataclass(frozen=True, slots=True)
class Unverified:
    """Unsigned, or the signature does not fit. `reason` is for the operator's log and holds nothing secret."""

    reason: str


Verdict = Verified | Unverified


def verify_github(body: bytes, headers: Mapping[str, str], secrets: Sequence[str]) -> Verdict:
    """Check `X-Hub-Signature-256`, HMAC-SHA256 of the raw body in lower-case hex. SHA-1 is refused.

    Meta's channels sign in the same form. `headers` is case-insensitive.
    """
    presented = headers.get("X-Hub-Signature-256")
    if presented is None:
        if headers.get("X-Hub-Signature") is not None:
            return Unverified("only a SHA-1 signature was sent, which is refused")
        return Unverified("the header X-Hub-Signature-256 is missing")
    wanted = [sign_github(body, secret) if secret else "" for secret in secrets]
    index = _fitting(presented, wanted)
    return Unverified("the signature does not fit the body") if index is None else Verified(index)


def verify_standard_webhooks(
    body: bytes,
    headers: Mapping[str, str],
    secrets: Sequence[str],
    now: float,
    tolerance_s: float = TOLERANCE_S,
) -> Verdict:
    """Check Standard Webhooks headers (`webhook-*`, or Svix's `svix-*`), version `v1`, HMAC-SHA256.

    `now` is in unix seconds; a timestamp further away than `tolerance_s`, on either side, is refused. Items of other
    versions (`v1a`, Ed25519, is not supported) and malformed items are passed over: they spoil no later good item.
    Raises BadSettings when a secret is not base64: check secrets once with `signing_key` when settings are read.
    """
    signed_headers = _one_family(headers)
    if signed_headers is None:
        return Unverified("webhook-id, webhook-timestamp or webhook-signature is missing")
    message_id, timestamp, signatures = signed_headers
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= TIMESTAMP_DIGITS_MAX):
        return Unverified("webhook-timestamp is not whole unix seconds")
    if abs(now - int(timestamp)) > tolerance_s:
        return Unverified(f"webhook-timestamp is more than {tolerance_s:g} s away from now")
    prefix = _wire_bytes(f"{message_id}.{timestamp}.")
    if prefix is None:
        return Unverified("webhook-id is not text")
    wanted = [v1_item(signing_key(secret), prefix + body) for secret in secrets]
    for item in signatures.split(" "):
        index = _fitting(item, wanted)
        if index is not None:
            return Verified(index, message_id, int(timestamp))
    return Unverified("no v1 signature in the list fits")


def verify_token(presented: str | None, secrets: Sequence[str]) -> Verdict:
    """Compare a plain shared token (`X-Gitlab-Token`, a bearer token) with the configured ones."""
    if presented is None:
        return Unverified("the token is missing")
    index = _fitting(presented, secrets)
    return Unverified("the token does not fit") if index is None else Verified(index)


def _one_family(headers: Mapping[str, str]) -> tuple[str, str, str] | None:
    # Never mixed: an id from one family with a signature from the other was signed by nobody.
    for family in _FAMILIES:
        found = [headers.get(f"{family}-{name}") for name in ("id", "timestamp", "signature")]
        message_id, timestamp, signatures = found
        if message_id and timestamp and signatures:
            return message_id, timestamp, signatures
    return None


def _fitting(presented: str, wanted: Iterable[str]) -> int | None:
    """Index of the wanted text that equals `presented`, compared in constant time; an empty one never fits."""
    given = _wire_bytes(presented)
    if given is None:
        return None
    for index, text in enumerate(wanted):
        if text and hmac.compare_digest(given, text.encode("utf-8", "surrogateescape")):
            return index
    return None


def _wire_bytes(text: str) -> bytes | None:
    # Servers hand over non-UTF-8 header bytes as lone surrogates; anything else that does not encode was never bytes.
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return None
