"""The verifiers judge every vector right, agree with the public library, and never raise on hostile input."""

import base64
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from router.signatures import (
    Unverified,
    Verdict,
    Verified,
    sign_github,
    sign_standard_webhooks,
    signing_key,
    verify_github,
    verify_standard_webhooks,
    verify_token,
)
from sessionstore.errors import BadSettings

VECTORS = json.loads((Path(__file__).parents[2] / "data/signatures/vectors.json").read_text())["vectors"]
KEY = b"0123456789abcdef0123456789abcdef"
SECRET = "whsec_" + base64.b64encode(KEY).decode()
OTHER = "whsec_" + base64.b64encode(KEY[::-1]).decode()
NOW = 1_800_000_000


def judge(vector: dict) -> Verdict:
    body = base64.b64decode(vector["body_b64"])
    headers = CIMultiDict(vector["headers"])
    secret = vector["secret"]
    match vector["scheme"], headers:
        case (("github" | "meta"), _):
            return verify_github(body, headers, [secret])
        case "alertmanager", _:
            return verify_token(headers.get("Authorization"), [f"Bearer {secret}"])
        case "gitlab", _ if "X-Gitlab-Token" in headers:
            return verify_token(headers["X-Gitlab-Token"], [secret])
    return verify_standard_webhooks(body, headers, [secret], now=vector["now"])


def signed(body: bytes = b"{}", *, message_id: str = "msg_1", at: int = NOW, keys: tuple[bytes, ...] = (KEY,)):
    return CIMultiDict(
        {
            "Webhook-Id": message_id,
            "Webhook-Timestamp": str(at),
            "Webhook-Signature": sign_standard_webhooks(body, message_id, at, keys),
        }
    )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector['scheme']}: {vector['case']}")
def test_every_vector_is_judged_right(vector: dict) -> None:
    assert isinstance(judge(vector), Verified if vector["expect"] == "accept" else Unverified)


def test_what_is_signed_here_is_accepted_by_the_public_library() -> None:
    now = int(time.time())
    Webhook(SECRET).verify(b'{"a": 1}', dict(signed(b'{"a": 1}', at=now)))


def test_what_the_public_library_signs_is_accepted_here() -> None:
    signature = Webhook(SECRET).sign("msg_9", datetime.fromtimestamp(NOW, UTC), '{"é": 1}')
    headers = {"webhook-id": "msg_9", "webhook-timestamp": str(NOW), "webhook-signature": signature}
    assert verify_standard_webhooks('{"é": 1}'.encode(), headers, [SECRET], NOW) == Verified(0, "msg_9", NOW)


@given(body=st.text(max_size=200), spoil=st.sampled_from(["", "body", "id", "secret"]))
def test_it_agrees_with_the_public_library(body: str, spoil: str) -> None:
    now = int(time.time())
    headers = signed(body.encode(), at=now)
    if spoil == "id":
        headers["Webhook-Id"] = "msg_2"
    sent = body + "x" if spoil == "body" else body
    secret = OTHER if spoil == "secret" else SECRET
    ours = verify_standard_webhooks(sent.encode(), headers, [secret], now)
    try:
        Webhook(secret).verify(sent.encode(), dict(headers), json_parse=False)
        theirs = True
    except WebhookVerificationError:
        theirs = False
    assert isinstance(ours, Verified) == theirs == (spoil == "")


def test_a_rotated_secret_fits_and_is_named_by_its_index() -> None:
    assert verify_standard_webhooks(b"{}", signed(keys=(KEY,)), [OTHER, SECRET], NOW) == Verified(1, "msg_1", NOW)


def test_a_sender_that_rotates_signs_with_both_keys() -> None:
    headers = signed(keys=(KEY[::-1], KEY))
    assert isinstance(verify_standard_webhooks(b"{}", headers, [SECRET], NOW), Verified)


@pytest.mark.parametrize(("age_s", "good"), [(300, True), (301, False), (-300, True), (-301, False)])
def test_the_time_tolerance_holds_on_both_sides(age_s: int, good: bool) -> None:
    verdict = verify_standard_webhooks(b"{}", signed(at=NOW - age_s), [SECRET], NOW)
    assert isinstance(verdict, Verified) == good


@pytest.mark.parametrize("stamp", ["", " 1800000000", "+1800000000", "1_800_000_000", "１８０００００００0", "9" * 400])
def test_a_timestamp_that_is_not_plain_digits_is_refused(stamp: str) -> None:
    headers = signed()
    headers["Webhook-Timestamp"] = stamp
    assert isinstance(verify_standard_webhooks(b"{}", headers, [SECRET], NOW), Unverified)


def test_header_families_are_never_mixed() -> None:
    headers = signed()
    headers["svix-id"] = headers.pop("Webhook-Id")
    assert isinstance(verify_standard_webhooks(b"{}", headers, [SECRET], NOW), Unverified)


def test_github_says_that_sha1_is_refused() -> None:
    verdict = verify_github(b"x", CIMultiDict({"x-hub-signature": "sha1=00"}), ["s"])
    assert isinstance(verdict, Unverified)
    assert "SHA-1" in verdict.reason


@pytest.mark.parametrize("secrets", [[], [""]])
def test_without_a_secret_nothing_is_accepted(secrets: list[str]) -> None:
    headers = CIMultiDict({"X-Hub-Signature-256": sign_github(b"x", "")})
    assert isinstance(verify_github(b"x", headers, secrets), Unverified)
    assert isinstance(verify_token("", secrets), Unverified)


def test_github_secrets_can_be_rotated() -> None:
    headers = CIMultiDict({"x-hub-signature-256": sign_github(b"x", "new")})
    assert verify_github(b"x", headers, ["old", "new"]) == Verified(1)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_%%%", "whsec_a", "nö", " "])
def test_a_secret_that_is_not_base64_is_a_settings_error_that_does_not_show_it(secret: str) -> None:
    with pytest.raises(BadSettings) as caught:
        signing_key(secret)
    assert "%%%" not in str(caught.value)


def test_an_unpadded_secret_is_read() -> None:
    assert signing_key("MDEyMzQ1Njc4OWFiY2RlZg") == b"0123456789abcdef"


HOSTILE = st.text(st.characters(), max_size=60)  # surrogates included, as servers hand them over


@given(body=st.binary(max_size=100), values=st.lists(HOSTILE, min_size=4, max_size=4), plain=st.booleans())
def test_no_bytes_and_no_headers_raise_or_pass(body: bytes, values: list[str], plain: bool) -> None:
    names = ["webhook-id", "webhook-timestamp", "webhook-signature", "x-hub-signature-256"]
    headers = dict(zip(names, values, strict=True))
    if plain:
        headers["webhook-timestamp"] = str(NOW)
    assert isinstance(verify_standard_webhooks(body, headers, [SECRET, OTHER], NOW), Unverified)
    assert isinstance(verify_github(body, headers, ["s"]), Unverified)
    assert isinstance(verify_token(values[0], ["a-token-of-ours"]), Unverified)
