"""Signatures over raw bytes: Standard Webhooks for what goes out, GitHub's form for tools and tests.

It lives here and not beside the verifiers, because the outbox may not import the router; the verifiers import this.
Source of the format: the Standard Webhooks specification (standardwebhooks.com), "Signature scheme".
"""

import binascii
import hmac
from base64 import b64encode
from collections.abc import Iterable

from sessionstore.errors import BadSettings

_WHSEC = "whsec_"
GITHUB_PREFIX = "sha256="


def signing_key(secret: str) -> bytes:
    """The key bytes of a Standard Webhooks secret: base64, with or without `whsec_`, padding optional.

    Raises BadSettings when it is empty or not base64; the message never holds the secret.
    """
    text = secret.strip().removeprefix(_WHSEC)
    try:
        key = binascii.a2b_base64(text + "=" * (-len(text) % 4), strict_mode=True)
    except ValueError:  # binascii.Error, and non-ASCII text
        key = b""
    if not key:
        raise BadSettings(
            "A webhook secret is not base64 text.",
            hint="Use the secret as the provider shows it (whsec_...); make one with: "
            "python -c \"import base64, os; print('whsec_' + base64.b64encode(os.urandom(32)).decode())\"",
        )
    return key


def sign_standard_webhooks(body: bytes, message_id: str, timestamp_s: int, keys: Iterable[bytes]) -> str:
    """The `webhook-signature` header: one `v1,<base64>` item per key, so that a receiver can rotate its secret."""
    signed = f"{message_id}.{timestamp_s}.".encode() + body
    return " ".join([v1_item(key, signed) for key in keys])


def v1_item(key: bytes, signed: bytes) -> str:
    """One item of the list, over `{id}.{timestamp}.{raw body}`."""
    return "v1," + b64encode(hmac.digest(key, signed, "sha256")).decode()


def sign_github(body: bytes, secret: str) -> str:
    """The `X-Hub-Signature-256` header that GitHub sends for this body."""
    return GITHUB_PREFIX + hmac.digest(secret.encode("utf-8", "surrogateescape"), body, "sha256").hex()
