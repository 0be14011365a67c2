"""Outgoing webhooks: a JSON body posted to a configured endpoint, signed as Standard Webhooks says.

The effect's key is the `webhook-id` and the `Idempotency-Key`, the same for every attempt, so a receiver that keeps
ids (as the specification asks it to) does the work once; hence idempotency is NATIVE unless the endpoint says
otherwise. The timestamp is that of the attempt. Source: the Standard Webhooks specification (standardwebhooks.com).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from multidict import CIMultiDict
from yarl import URL

from outbox.adapter import (
    CannotTell,
    Delivered,
    Idempotency,
    Limits,
    LookupResult,
    NotSent,
    Rejected,
    Sending,
    SendResult,
    Unknown,
)
from outbox.classify import classify_status
from outbox.client import BODY_BYTES_MAX, HttpClient
from outbox.headers import header_problem
from outbox.signing import sign_standard_webhooks, signing_key
from sessionstore.errors import BadSettings, TurnlineError

WINDOW_S = 86_400.0
TIMEOUT_S = 15.0

DEFAULT_LIMITS = Limits(
    idempotency=Idempotency.NATIVE, window_s=WINDOW_S, length_max=BODY_BYTES_MAX, unit="byte", timeout_s=TIMEOUT_S
)


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """Where webhooks go. `secrets` are base64 texts (`whsec_...`); with several, each request is signed with all.

    `headers` are sent along, for gateways that want a token; they come from the settings and never reach a session.
    """

    url: str
    secrets: tuple[str, ...] = field(repr=False)
    limits: Limits = DEFAULT_LIMITS
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class _Ready:
    url: URL
    keys: tuple[bytes, ...]
    limits: Limits
    headers: dict[str, str]


class SignedWebhook:
    """The adapter `webhook`: target `{"endpoint": name}`, body any JSON object.

    `now` gives unix seconds, for the signature's timestamp. Raises BadSettings on an endpoint that cannot be used.
    """

    name = "webhook"
    limits = DEFAULT_LIMITS

    def __init__(self, endpoints: Mapping[str, WebhookEndpoint], client: HttpClient, now: Callable[[], float]) -> None:
        self._ready = {name: _made_ready(name, endpoint, client) for name, endpoint in endpoints.items()}
        self._client = client
        self._now = now

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        """The endpoint's own promises."""
        ready = self._ready.get(str(target.get("endpoint")))
        return self.limits if ready is None else ready.limits

    async def send(self, sending: Sending) -> SendResult:
        """Post it once. Delivered means that a 2xx status came, whatever the answer's body."""
        ready = self._ready.get(str(sending.target.get("endpoint")))
        if ready is None:
            # Not permanent: another worker, or this one after a deployment, may know it.
            return NotSent(f"no outgoing endpoint {sending.target.get('endpoint')!r} is configured here")
        try:
            body = orjson.dumps(sending.body)
        except TypeError as error:
            return NotSent(f"the body is not JSON: {error}", permanent=True)
        if len(body) > ready.limits.length_max:
            return NotSent(f"the body has {len(body)} bytes; {ready.limits.length_max} may be sent", permanent=True)
        headers = _headers(ready, sending.key, int(self._now()), body)
        answer = await self._client.exchange("POST", ready.url, headers, body, ready.limits.timeout_s)
        if isinstance(answer, NotSent | Unknown):
            return answer
        if 200 <= answer.status < 300:
            return Delivered(str(answer.status))
        if 300 <= answer.status < 400:
            # The specification counts every redirect as a failure, 303 too.
            return Rejected(f"HTTP {answer.status}: redirects are not followed")
        repeated = sending.attempt > 1 and ready.limits.idempotency is Idempotency.NATIVE
        return classify_status(answer.status, answer.headers, self._now(), repeated_key=repeated)

    async def lookup(self, sending: Sending) -> LookupResult:
        """Webhooks cannot be asked about."""
        return CannotTell("a webhook endpoint has no look-up")

    async def close(self) -> None:
        await self._client.close()


def _headers(ready: _Ready, key: str, timestamp_s: int, body: bytes) -> dict[str, str]:
    return {
        **ready.headers,
        "webhook-id": key,
        "webhook-timestamp": str(timestamp_s),
        "webhook-signature": sign_standard_webhooks(body, key, timestamp_s, ready.keys),
        "Idempotency-Key": key,
    }


def _made_ready(name: str, endpoint: WebhookEndpoint, client: HttpClient) -> _Ready:
    try:
        url = URL(endpoint.url)
        client.policy.check_url(url)
        keys = tuple(signing_key(secret) for secret in endpoint.secrets)
    except (ValueError, TurnlineError) as error:
        hint = error.hint if isinstance(error, TurnlineError) else "Give an absolute http or https URL."
        raise BadSettings(f"The outgoing endpoint {name!r} cannot be used: {error}", hint=hint) from None
    if not keys:
        raise BadSettings(f"The outgoing endpoint {name!r} has no secret.", hint="Set one; webhooks are always signed.")
    if problem := header_problem(endpoint.headers):
        raise BadSettings(
            f"The outgoing endpoint {name!r}: {problem}.", hint="Set only headers that the receiver asks for."
        )
    headers = CIMultiDict({"Content-Type": "application/json"})
    headers.update(endpoint.headers)
    return _Ready(url, keys, endpoint.limits, dict(headers))
