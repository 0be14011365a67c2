"""Hooks: verified first, then read; a value for every delivery, whatever its bytes."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from router.hooks import Delivery, Hook, Refusal, decode, event_of
from router.signatures import sign_github, sign_standard_webhooks
from sessionstore.errors import BadSettings
from sessionstore.event import Event

NOW = 1_800_000_000.0
KEY = b"0123456789abcdef0123456789abcdef"
WHSEC = "whsec_" + base64.b64encode(KEY).decode()
GITHUB = Hook("github", "github", ("new secret", "old secret"), agent="ci", reply_to="crm")
BILLING = Hook("billing", "standard", (WHSEC,), session_key=("[['customer', body.data.customer]]",))
PAYLOADS = Path(__file__).parents[2] / "data/github/payloads"


def github(body: bytes, secret: str = "new secret", **headers: str) -> CIMultiDict[str]:
    return CIMultiDict(
        {
            "X-GitHub-Event": "issues",
            "X-GitHub-Delivery": "d-1",
            "Content-Type": "application/json",
            "X-Hub-Signature-256": sign_github(body, secret),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
    )


def standard(body: bytes, message_id: str = "msg_1", at: float = NOW) -> CIMultiDict[str]:
    return CIMultiDict(
        {
            "webhook-id": message_id,
            "webhook-timestamp": str(int(at)),
            "webhook-signature": sign_standard_webhooks(body, message_id, int(at), [KEY]),
        }
    )


def taken(hook: Hook, headers: CIMultiDict[str], body: bytes) -> Delivery:
    delivery = decode(hook, headers, {}, body, NOW)
    assert isinstance(delivery, Delivery), delivery
    return delivery


def refused(hook: Hook, headers: CIMultiDict[str], body: bytes) -> Refusal:
    refusal = decode(hook, headers, {}, body, NOW)
    assert isinstance(refusal, Refusal), refusal
    assert refusal.hint
    return refusal


ISSUE = (PAYLOADS / "issues.opened.payload.json").read_bytes()


def test_a_github_delivery_becomes_an_event_with_key_type_route_and_words() -> None:
    delivery = taken(GITHUB, github(ISSUE), ISSUE)
    event = event_of(GITHUB, delivery, "t", "ci")
    assert isinstance(event, Event)
    assert (event.tenant, event.source, event.id, event.type) == ("t", "github", "d-1", "github.issues.opened")
    assert event.session == "agent:ci/github:Codertocat%2FHello-World/issue:1"
    assert event.sender == "Codertocat"
    assert event.reply_route == {"adapter": "webhook", "lane": "webhook:crm", "endpoint": "crm"}
    assert event.data["body"] == json.loads(ISSUE)
    assert (event.data["event"], event.data["action"]) == ("issues", "opened")
    assert event.text == (
        "issues opened in Codertocat/Hello-World #1: Spelling error in the README file, by Codertocat"
    )
    assert delivery.body_hash == hashlib.sha256(ISSUE).digest()


def test_what_proves_the_sender_reaches_neither_handler_nor_key() -> None:
    hook = Hook("h", "github", ("s",), session_key=("[['leak', headers.authorization]]", "[['fine', 'yes']]"))
    headers = github(ISSUE, "s", Authorization="Bearer hunter2", Cookie="c=hunter2", X_Other="hunter2")
    delivery = taken(hook, headers, ISSUE)
    assert delivery.parts == (("fine", "yes"),)
    assert sorted(delivery.data["headers"]) == ["content-type", "x-github-delivery", "x-github-event"]
    assert "hunter2" not in json.dumps(delivery.data)


@pytest.mark.parametrize("secret", ["new secret", "old secret"])
def test_each_secret_is_good_while_they_are_rotated(secret: str) -> None:
    assert taken(GITHUB, github(ISSUE, secret), ISSUE)


def test_a_form_is_verified_over_its_own_bytes_and_read_from_its_field() -> None:
    form = urlencode({"payload": ISSUE.decode()}).encode()
    headers = github(form, Content_Type="application/x-www-form-urlencoded")
    delivery = taken(GITHUB, headers, form)
    assert delivery.data["body"] == json.loads(ISSUE)
    assert delivery.body_hash == hashlib.sha256(form).digest()
    headers["X-Hub-Signature-256"] = sign_github(ISSUE, "new secret")
    assert refused(GITHUB, headers, form).code == "bad_signature"


@pytest.mark.parametrize(
    "form", [b"", b"payload", b"payload={}&payload={}", b"other={}", b"payload=%FF", b"payload=\xff", b"a=&" * 30]
)
def test_a_form_without_one_readable_payload_is_refused(form: bytes) -> None:
    refusal = refused(GITHUB, github(form, Content_Type="application/x-www-form-urlencoded; charset=utf-8"), form)
    assert (refusal.status, refusal.code) == (400, "malformed")


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({}, "missing"),
        ({"X-Hub-Signature": "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59"}, "SHA-1"),
        ({"X-Hub-Signature-256": sign_github(ISSUE, "another")}, "does not fit"),
    ],
)
def test_unsigned_or_badly_signed_is_refused_before_anything_is_read(headers: dict[str, str], reason: str) -> None:
    for body in (ISSUE, b"not JSON at all \xff"):
        refusal = refused(GITHUB, CIMultiDict(headers), body)
        assert (refusal.status, refusal.code, refusal.retryable) == (401, "bad_signature", False)
        assert reason in refusal.detail


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a": NaN}',
        b'{"a":1,"a":2}',
        b"[" * 500 + b"]" * 500,
        b'{"n":' + b"9" * 30 + b"}",
        b'"\xff"',
        b'"\\udc00"',
    ],
)
def test_a_signed_body_that_is_not_json_as_understood_is_refused(body: bytes) -> None:
    for refusal in (refused(GITHUB, github(body), body), refused(BILLING, standard(body), body)):
        assert (refusal.status, refusal.code) == (400, "malformed")


@pytest.mark.parametrize(
    ("header", "value", "code"),
    [
        ("X-GitHub-Event", "", "no_event_type"),
        ("X-GitHub-Event", "a.b", "no_event_type"),
        ("X-GitHub-Delivery", "", "no_delivery_id"),
        ("X-GitHub-Delivery", "x" * 201, "no_delivery_id"),
        ("X-GitHub-Delivery", "a\x7fb", "no_delivery_id"),
        ("X-GitHub-Delivery", "a\udcffb", "no_delivery_id"),
    ],
)
def test_a_delivery_without_a_usable_id_or_type_is_refused(header: str, value: str, code: str) -> None:
    headers = github(ISSUE)
    headers[header] = value
    refusal = refused(GITHUB, headers, ISSUE)
    assert (refusal.status, refusal.code) == (400, code)
    del headers[header]
    assert refused(GITHUB, headers, ISSUE).code == code


def test_a_standard_webhook_has_its_type_from_the_body_and_its_time_from_the_signature() -> None:
    body = b'{"type": "invoice.paid", "data": {"customer": "c/1"}}'
    delivery = taken(BILLING, standard(body, at=NOW - 200), body)
    assert (delivery.id, delivery.type, delivery.time) == ("msg_1", "invoice.paid", NOW - 200)
    event = event_of(BILLING, delivery, "default", "main")
    assert isinstance(event, Event)
    assert (event.session, event.reply_route) == ("agent:main/customer:c%2F1", None)


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"3", b'{"type": 7}', b'{"type": "a\\nb"}', b'{"type": "cron.nightly"}']
)
def test_without_a_usable_type_it_is_a_webhook_and_without_a_key_it_goes_to_the_hooks_session(body: bytes) -> None:
    delivery = taken(BILLING, standard(body), body)
    assert delivery.type == "webhook"
    assert delivery.parts == (("hook", "billing"),)


def test_svix_headers_give_the_id_that_they_sign() -> None:
    headers = CIMultiDict({name.replace("webhook", "svix"): value for name, value in standard(b"{}").items()})
    headers["webhook-id"] = "forged"
    assert taken(BILLING, headers, b"{}").id == "msg_1"


@pytest.mark.parametrize("at", [NOW - 301, NOW + 301])
def test_an_old_or_early_timestamp_is_refused(at: float) -> None:
    assert refused(BILLING, standard(b"{}", at=at), b"{}").code == "bad_signature"
    wide = Hook("billing", "standard", (WHSEC,), tolerance_s=600)
    assert taken(wide, standard(b"{}", at=at), b"{}")


@pytest.mark.parametrize("customer", ["c" * 600, "\U0001f600" * 100])
def test_an_id_that_makes_no_key_is_refused_with_the_setting_to_change(customer: str) -> None:
    body = json.dumps({"data": {"customer": customer}}).encode()
    refusal = event_of(BILLING, taken(BILLING, standard(body), body), "default", "main")
    assert isinstance(refusal, Refusal)
    assert (refusal.status, refusal.code) == (400, "bad_key")
    assert "hooks.billing.session_key" in refusal.hint


def test_a_strangers_title_stays_one_short_line() -> None:
    payload = json.loads(ISSUE)
    payload["issue"]["title"] = "x\n\u202e" + "y" * 5_000
    body = json.dumps(payload).encode()
    text = taken(GITHUB, github(body), body).data["text"]
    assert len(text) <= 300
    assert text.isprintable()
    assert text.endswith("..., by Codertocat")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"secrets": ()}, "no secret"),
        ({"secrets": ("good", " ")}, "empty"),
        ({"secrets": ("\ud800",)}, "not text"),
        ({"kind": "standard", "secrets": ("not base64!",)}, "base64"),
        ({"kind": "gitlab"}, "unknown"),
        ({"name": "a/b"}, "cannot name"),
        ({"name": "outbox"}, "events of our own"),
        ({"session_key": ("[['a', ",)}, r"session_key\[0\]"),
    ],
)
def test_a_hook_that_could_never_work_is_told_when_settings_are_read(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(BadSettings, match=told) as caught:
        Hook(**{"name": "h", "kind": "github", "secrets": ("s",), **settings})
    assert caught.value.hint
    assert "not base64!" not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(GITHUB)


TEXT = st.text(st.characters(codec=None), max_size=40)
FIELDS = st.sampled_from(["X-GitHub-Event", "X-GitHub-Delivery", "Content-Type", "webhook-id", "X-Hub-Signature-256"])


@given(st.binary(max_size=300), st.dictionaries(FIELDS, TEXT), st.booleans(), st.sampled_from([GITHUB, BILLING]))
def test_decode_raises_nothing(body: bytes, headers: dict[str, str], signed: bool, hook: Hook) -> None:
    full = CIMultiDict(headers)
    if signed:
        full = github(body) if hook is GITHUB else standard(body)
        full.update(
            {name: value for name, value in headers.items() if name not in ("X-Hub-Signature-256", "webhook-id")}
        )
    assert isinstance(decode(hook, full, {}, body, NOW), Delivery | Refusal)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20), lambda v: st.lists(v, max_size=3), max_leaves=5
)
NAMES = st.sampled_from(
    "action issue pull_request number title repository full_name sender login release ref type data".split()
)
OBJECTS = st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES, max_size=4), max_size=6)


@given(OBJECTS, st.sampled_from([GITHUB, BILLING]))
def test_odd_payloads_give_an_event_or_a_refusal(payload: Any, hook: Hook) -> None:
    body = json.dumps(payload).encode()
    delivery = decode(hook, github(body) if hook is GITHUB else standard(body), {}, body, NOW)
    if isinstance(delivery, Delivery):
        assert isinstance(event_of(hook, delivery, "t", "ci"), Event | Refusal)
