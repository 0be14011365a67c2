"""Endpoints that cannot be used are refused when settings are read; unknown ones are never a permanent failure."""

from typing import Any

import pytest

from outbox.adapter import CannotTell, Idempotency, Limits, NotSent
from outbox.client import HttpClient
from outbox.webhook import DEFAULT_LIMITS, SignedWebhook, WebhookEndpoint
from sessionstore.errors import BadSettings
from tests.unit.outbox.sendings import sending

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
URL = "https://hooks.example.com/in"


def adapter(**settings: Any) -> SignedWebhook:
    endpoint = WebhookEndpoint(**{"url": URL, "secrets": (SECRET,), **settings})
    return SignedWebhook({"crm": endpoint}, HttpClient(), lambda: 0.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "http://10.0.0.1/"},
        {"url": "hooks.example.com"},
        {"url": "https://u:p@hooks.example.com"},
        {"url": "https://h:x/"},
        {"secrets": ()},
        {"secrets": ("s3cret!",)},
        {"headers": {"webhook-id": "x"}},
        {"headers": {"X-Token": "s3cret\n"}},
    ],
)
def test_a_wrong_endpoint_is_a_settings_error_that_names_it_and_shows_no_secret(settings: dict[str, Any]) -> None:
    with pytest.raises(BadSettings, match="'crm'") as caught:
        adapter(**settings)
    assert caught.value.hint
    assert "s3cret" not in str(caught.value)


def test_secrets_are_not_in_the_endpoints_repr() -> None:
    assert "whsec" not in repr(WebhookEndpoint(URL, (SECRET,), headers={"X-Token": "whsec"}))


def test_an_endpoint_may_promise_less_than_the_default() -> None:
    limits = Limits(idempotency=Idempotency.NONE)
    assert adapter(limits=limits).limits_for({"endpoint": "crm"}) is limits
    assert adapter().limits_for({"endpoint": "crm"}) == DEFAULT_LIMITS
    assert DEFAULT_LIMITS.idempotency is Idempotency.NATIVE
    assert DEFAULT_LIMITS.window_s == 86_400


@pytest.mark.parametrize("target", [{"endpoint": "other"}, {}, {"endpoint": None}])
async def test_an_endpoint_that_this_worker_does_not_know_may_be_known_later(target: dict[str, Any]) -> None:
    result = await adapter().send(sending(target, {}))
    assert isinstance(result, NotSent)
    assert not result.permanent


@pytest.mark.parametrize("body", [{"a": object()}, {"a": "x" * 1_048_576}])
async def test_a_body_that_can_never_be_sent_is_permanently_not_sent(body: dict[str, Any]) -> None:
    result = await adapter().send(sending({"endpoint": "crm"}, body))
    assert isinstance(result, NotSent)
    assert result.permanent


async def test_a_webhook_cannot_be_looked_up() -> None:
    assert isinstance(await adapter().lookup(sending({"endpoint": "crm"}, {})), CannotTell)
