"""Hooks: doors that outside systems post signed deliveries to, and what such a delivery says. Pure.

The signature is checked over the bytes as they came, before anything in them is read. Then the delivery's id (the
sender's own, so that a repeat is seen), its type, the session that it belongs to and the route of a reply follow from
headers and body alone. A signed sender that cannot be understood is told so in one sentence; nothing is guessed.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard
from urllib.parse import parse_qsl

from multidict import CIMultiDict

from router.callersource import INTERNAL_SOURCES
from router.expression import Expression, Parts, compile_expressions, key_parts, request_payload
from router.githubkey import GITHUB_KEY
from router.githubtext import github_sender, github_text
from router.intake import Intake
from router.jsonbody import Malformed, parse_json
from router.keys import make_key
from router.signatures import (
    TOLERANCE_S,
    Unverified,
    Verdict,
    sign_github,
    signing_key,
    verify_github,
    verify_standard_webhooks,
)
from sessionstore.errors import BadKey, BadSettings, TurnlineError
from sessionstore.event import Event, ReplyRoute

KINDS = ("github", "standard")
BODY_BYTES_MAX = 25 * 1024 * 1024
BODY_TIMEOUT_S = 30.0
FORM_FIELDS_MAX = 20
LABEL_CHARS_MAX = 200
CRON_TYPES = "cron."

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_GITHUB_EVENT: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_FORM = "application/x-www-form-urlencoded"
# What proves who sent it is for this door alone: no handler, transcript or key expression sees it.
_PROOFS: Final = frozenset(
    "authorization cookie proxy-authorization svix-signature webhook-signature "
    "x-hub-signature x-hub-signature-256".split()
)
_KEPT: Final = frozenset("content-type user-agent webhook-id webhook-timestamp svix-id svix-timestamp".split())
_KEPT_FAMILY = "x-github-"


@dataclass(frozen=True, slots=True)
class Hook:
    """A door at `/v1/hooks/NAME`. Raises BadSettings, with the hook's name, when it could never work.

    `kind` is `github` or `standard` (Standard Webhooks). `secrets` are as the sender shows them, newest first; several
    allow rotation. `agent` may be empty: then the routing's default gets the deliveries. `session_key` is a list of
    JMESPath expressions (see router/expression.py), the first usable one wins; empty means GitHub's own table, or the
    hook's one session. `reply_to` names the outgoing endpoint that replies go to.
    """

    name: str
    kind: str
    secrets: tuple[str, ...] = field(repr=False)
    agent: str = ""
    session_key: tuple[str, ...] = ()
    reply_to: str = ""
    tolerance_s: float = TOLERANCE_S
    body_bytes_max: int = BODY_BYTES_MAX
    body_timeout_s: float = BODY_TIMEOUT_S
    keys: tuple[Expression, ...] = field(init=False, repr=False, compare=False)
    intake: Intake = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.kind not in KINDS:
            raise BadSettings(f"hooks.{self.name}: kind {self.kind!r} is unknown", hint=f"use {' or '.join(KINDS)}")
        _check_secrets(self.name, self.kind, self.secrets)
        texts = self.session_key or (GITHUB_KEY if self.kind == "github" else ())
        compiled = compile_expressions(texts, f"hooks.{self.name}.session_key") if texts else ()
        object.__setattr__(self, "keys", compiled)
        object.__setattr__(self, "intake", Intake(max(Intake().bytes_max, self.body_bytes_max)))

    @property
    def reply_route(self) -> ReplyRoute | None:
        """Where a reply to its deliveries goes; None when they are only read."""
        return endpoint_route(self.reply_to)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A verified delivery. `parts` are those of its session's key; `body_hash` is SHA-256 of the raw body."""

    id: str
    type: str
    parts: Parts
    data: Mapping[str, Any]
    body_hash: bytes
    time: float
    sender: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request was not taken: an HTTP status, a stable code, a sentence, what to do, and whether a retry helps."""

    status: int
    code: str
    detail: str
    hint: str = ""
    retryable: bool = False

    @classmethod
    def of(cls, error: TurnlineError) -> "Refusal":
        """The same, from an error."""
        return cls(error.status, error.code, str(error), error.hint, error.retryable)


def endpoint_route(endpoint: str) -> ReplyRoute | None:
    """The reply route to a configured outgoing endpoint; None for no name."""
    if not endpoint:
        return None
    return {"adapter": "webhook", "lane": f"webhook:{endpoint}", "endpoint": endpoint}


def decode(
    hook: Hook, headers: Mapping[str, str], query: Mapping[str, str], body: bytes, now: float
) -> Delivery | Refusal:
    """Verify the raw body, then read it. `now` is in unix seconds. Raises nothing, whatever the bytes are."""
    headers = CIMultiDict(headers)
    verdict = _verify(hook, headers, body, now)
    if isinstance(verdict, Unverified):
        return Refusal(401, "bad_signature", verdict.reason, "sign the raw body with the secret that both sides know")
    try:
        payload = parse_json(_json_bytes(hook, headers, body), unique_names=True)
    except Malformed as error:
        return Refusal.of(error)
    seen = {name.lower(): value for name, value in headers.items() if name.lower() not in _PROOFS}
    parts = key_parts(hook.keys, request_payload(seen, query, payload)) or (("hook", hook.name),)
    if hook.kind == "github":
        return _github(headers, payload, parts, _Raw(seen, body, now))
    at = now if verdict.timestamp_s is None else float(verdict.timestamp_s)
    return _standard(hook, verdict.message_id, payload, parts, _Raw(seen, body, at))


def event_of(hook: Hook, delivery: Delivery, tenant: str, agent: str) -> Event | Refusal:
    """The delivery as an event of the agent's session; refused when the hook's expressions give no possible key."""
    try:
        key = make_key(tenant, agent, delivery.parts)
    except BadKey as bad:
        return Refusal(400, bad.code, str(bad), f"change hooks.{hook.name}.session_key, then have it sent again")
    return Event(
        tenant=tenant,
        source=hook.name,
        id=delivery.id,
        type=delivery.type,
        session=key.text,
        agent=agent,
        data=delivery.data,
        time=delivery.time,
        sender=delivery.sender,
        reply_route=hook.reply_route,
    )


@dataclass(frozen=True, slots=True)
class _Raw:
    """What both kinds need besides their own fields."""

    headers: Mapping[str, str]
    body: bytes
    at: float

    @property
    def kept(self) -> dict[str, str]:
        """The headers that a handler may want."""
        return {n: v for n, v in self.headers.items() if (n in _KEPT or n.startswith(_KEPT_FAMILY)) and is_label(v)}

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.body).digest()


def is_label(text: Any) -> TypeGuard[str]:
    """Whether this is text that can stand in a column, a log line and a header: not empty, short, printable."""
    return isinstance(text, str) and 0 < len(text) <= LABEL_CHARS_MAX and text.isprintable()


def _github(headers: Mapping[str, str], payload: Any, parts: Parts, raw: _Raw) -> Delivery | Refusal:
    event, delivery_id = headers.get("X-GitHub-Event", ""), headers.get("X-GitHub-Delivery", "")
    if not _GITHUB_EVENT.fullmatch(event):
        return Refusal(400, "no_event_type", "the header X-GitHub-Event is missing or no event's name", _NOT_GITHUB)
    if not is_label(delivery_id):
        return Refusal(400, "no_delivery_id", "the header X-GitHub-Delivery is missing or unusable", _NOT_GITHUB)
    given = payload.get("action") if isinstance(payload, dict) else None
    action = given if is_label(given) else ""
    text = github_text(event, action, payload)
    data = {"text": text, "event": event, "action": action, "headers": raw.kept, "body": payload}
    type_ = f"github.{event}.{action}" if action else f"github.{event}"
    return Delivery(delivery_id, type_, parts, data, raw.digest, raw.at, github_sender(payload))


_NOT_GITHUB = 'only deliveries as GitHub makes them are understood here; use kind = "standard" for other senders'


def _standard(hook: Hook, message_id: str, payload: Any, parts: Parts, raw: _Raw) -> Delivery | Refusal:
    if not is_label(message_id):
        return Refusal(
            400,
            "no_delivery_id",
            f"webhook-id is longer than {LABEL_CHARS_MAX} characters or not printable",
            "give each message a short id of its own, such as a UUID",
        )
    given = payload.get("type") if isinstance(payload, dict) else None
    # Cron handlers are reached by their timers only.
    type_ = given if is_label(given) and not given.startswith(CRON_TYPES) else "webhook"
    data = {"text": f"{type_} from {hook.name}", "event": type_, "action": "", "headers": raw.kept, "body": payload}
    return Delivery(message_id, type_, parts, data, raw.digest, raw.at)


def _verify(hook: Hook, headers: Mapping[str, str], body: bytes, now: float) -> Verdict:
    if hook.kind == "github":
        return verify_github(body, headers, hook.secrets)
    return verify_standard_webhooks(body, headers, hook.secrets, now, hook.tolerance_s)


def _json_bytes(hook: Hook, headers: Mapping[str, str], body: bytes) -> bytes:
    # GitHub signs a form's bytes, and the JSON is one field of it.
    if hook.kind != "github" or headers.get("Content-Type", "").partition(";")[0].strip().lower() != _FORM:
        return body
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=FORM_FIELDS_MAX,
        )
    except ValueError:
        pairs = []
    found = [value for name, value in pairs if name == "payload"]
    if len(found) != 1:
        raise Malformed("the form has no single field `payload`", hint="set the webhook's content type to JSON")
    return found[0].encode("utf-8")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadSettings(f"{name!r} cannot name a hook", hint="letters, digits, - _ and . only, at most 64")
    if name in INTERNAL_SOURCES:
        raise BadSettings(f"a hook may not be called {name!r}: events of our own come from there", hint="rename it")


def _check_secrets(name: str, kind: str, secrets: Sequence[str]) -> None:
    if not secrets or not all(secret.strip() for secret in secrets):
        raise BadSettings(
            f"hooks.{name} has {'an empty' if secrets else 'no'} secret: nobody could be told from anybody else",
            hint=f"set hooks.{name}.secret, or TURNLINE_HOOKS__{name.upper()}__SECRET",
        )
    for secret in secrets:
        try:
            signing_key(secret) if kind == "standard" else sign_github(b"", secret)
        except BadSettings as error:
            raise BadSettings(f"hooks.{name}: {error}", hint=error.hint) from None
        except UnicodeEncodeError:
            raise BadSettings(f"hooks.{name}: a secret is not text", hint="write it in UTF-8") from None
