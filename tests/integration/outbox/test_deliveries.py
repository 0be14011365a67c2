"""The adapters `webhook` and `http` against a server: what arrives, and what is concluded from its answer."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from standardwebhooks import Webhook

from outbox.adapter import (
    Absent,
    CannotTell,
    Delivered,
    Idempotency,
    Limits,
    NotSent,
    Rejected,
    Running,
    SendResult,
    Succeeded,
    Unknown,
)
from outbox.client import ClientLimits, HttpClient
from outbox.egress import parse_allow
from outbox.http import HttpEffect, HttpOrigin
from outbox.webhook import DEFAULT_LIMITS, SignedWebhook, WebhookEndpoint
from sessionstore.clock import SystemClock
from tests.integration.outbox.loopback import Fault, Loopback, answer, loopback
from tests.unit.outbox.sendings import sending

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
NEXT = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
NOW = SystemClock().now
JSON = {"Content_Type": "application/json; charset=utf-8"}


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    one = HttpClient(parse_allow("127.0.0.1"), ClientLimits(answer_bytes_max=1_000))
    yield one
    await one.close()


def webhook(server: Loopback, client: HttpClient, **settings: Any) -> SignedWebhook:
    endpoint = WebhookEndpoint(f"{server.url}/in", (SECRET, NEXT), **settings)
    return SignedWebhook({"crm": endpoint}, client, NOW)


async def post(adapter: SignedWebhook, attempt: int = 1) -> SendResult:
    return await adapter.send(sending({"endpoint": "crm"}, {"type": "done", "data": {"é": 1}}, attempt=attempt))


@pytest.mark.parametrize("secret", [SECRET, NEXT])
async def test_a_webhook_arrives_signed_so_that_the_public_library_accepts_it(client: HttpClient, secret: str) -> None:
    async with loopback(lambda _: answer(204)) as server:
        result = await post(webhook(server, client, headers={"X-Token": "t", "content-type": "application/x+json"}))
        assert result == Delivered("204")
        [arrival] = server.arrivals
        assert arrival.line == "POST /in HTTP/1.1"
        assert Webhook(secret).verify(arrival.body, arrival.headers) == {"type": "done", "data": {"é": 1}}
        assert arrival.headers["webhook-id"] == arrival.headers["idempotency-key"] == "eff_1"
        assert arrival.headers["x-token"] == "t"
        assert arrival.headers["content-type"] == "application/x+json"


async def test_every_attempt_carries_the_same_id(client: HttpClient) -> None:
    async with loopback(lambda _: answer(429, Retry_After="7")) as server:
        adapter = webhook(server, client)
        for attempt in (1, 2):
            assert await post(adapter, attempt) == NotSent("HTTP 429", retry_after_s=7.0)
        assert {arrival.headers["webhook-id"] for arrival in server.arrivals} == {"eff_1"}


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (answer(200, b"ok"), Delivered),
        (answer(200, b"x" * 100_000), Delivered),
        (answer(200, b"half", claimed=9, Connection="close"), Delivered),
        (answer(303, Location="/done"), Rejected),
        (answer(302, Location="/"), Rejected),
        (answer(410), Rejected),
        (answer(409), Rejected),
        (answer(425), NotSent),
        (answer(408), Unknown),
        (answer(503), Unknown),
        (Fault.DROP, Unknown),
    ],
)
async def test_a_webhooks_answer_has_one_meaning(client: HttpClient, reply: bytes | Fault, kind: type) -> None:
    async with loopback(lambda _: reply) as server:
        assert type(await post(webhook(server, client))) is kind
        assert len(server.arrivals) == 1


@pytest.mark.parametrize(("idempotency", "kind"), [(Idempotency.NATIVE, Unknown), (Idempotency.NONE, Rejected)])
async def test_a_conflict_on_a_repeated_key_is_a_no_only_where_keys_mean_nothing(
    client: HttpClient, idempotency: Idempotency, kind: type
) -> None:
    async with loopback(lambda _: answer(409)) as server:
        adapter = webhook(server, client, limits=Limits(idempotency=idempotency))
        assert type(await post(adapter, attempt=2)) is kind


async def test_an_endpoints_time_limit_holds(client: HttpClient) -> None:
    async with loopback(lambda _: Fault.HANG) as server:
        assert isinstance(await post(webhook(server, client, limits=Limits(timeout_s=0.1))), Unknown)
    assert DEFAULT_LIMITS.timeout_s == 15


def http(server: Loopback, client: HttpClient, **limits: Any) -> HttpEffect:
    return HttpEffect([HttpOrigin(server.url, Limits(**limits), {"Authorization": "Bearer s3cret"})], client, NOW)


async def test_an_http_effect_arrives_with_its_key_and_the_settings_credentials(client: HttpClient) -> None:
    body = {"method": "PUT", "headers": {"authorization": "forged", "X-A": "1"}, "json": {"a": 1}}
    async with loopback(lambda _: answer(201, b'{"id": 7}', Location="/jobs/7", **JSON)) as server:
        result = await http(server, client).send(sending({"url": f"{server.url}/jobs?x=1"}, body))
        assert isinstance(result, Delivered)
        assert result.receipt == "7"
        assert result.result["status"] == 201
        assert result.result["json"] == {"id": 7}
        assert result.result["headers"]["location"] == "/jobs/7"
        [arrival] = server.arrivals
        assert arrival.line == "PUT /jobs?x=1 HTTP/1.1"
        assert arrival.headers["idempotency-key"] == "eff_1"
        assert arrival.headers["authorization"] == "Bearer s3cret"
        assert (arrival.headers["x-a"], orjson.loads(arrival.body)) == ("1", {"a": 1})


async def test_credentials_go_to_their_own_origin_only(client: HttpClient) -> None:
    async with loopback(lambda _: answer(200)) as known, loopback(lambda _: answer(200)) as other:
        await http(known, client).send(sending({"url": other.url}, {}))
        assert "authorization" not in other.arrivals[0].headers


async def test_a_final_no_comes_with_what_the_server_said(client: HttpClient) -> None:
    async with loopback(lambda _: answer(422, b'{"error": "taken"}', **JSON)) as server:
        result = await http(server, client).send(sending({"url": server.url}, {"json": 1}))
        assert isinstance(result, Rejected)
        assert result.result["json"] == {"error": "taken"}


async def test_an_answer_that_is_not_json_is_kept_as_text(client: HttpClient) -> None:
    for reply, text in [(answer(200, b"{oops", **JSON), "{oops"), (answer(200, b"\xff"), "\ufffd")]:
        async with loopback(lambda _, reply=reply: reply) as server:
            result = await http(server, client).send(sending({"url": server.url}, {}))
            assert isinstance(result, Delivered)
            assert result.result["text"] == text


async def test_a_long_answer_is_delivered_truncated_and_a_broken_one_is_unknown(client: HttpClient) -> None:
    async with loopback(lambda _: answer(200, b"x" * 50_000)) as server:
        result = await http(server, client).send(sending({"url": server.url}, {}))
        assert isinstance(result, Delivered)
        assert result.result["truncated"]
    async with loopback(lambda _: answer(200, b"half", claimed=9, Connection="close")) as server:
        assert isinstance(await http(server, client).send(sending({"url": server.url}, {})), Unknown)


async def test_a_see_other_may_have_been_done(client: HttpClient) -> None:
    async with loopback(lambda _: answer(303, Location="/done")) as server:
        assert isinstance(await http(server, client).send(sending({"url": server.url}, {})), Unknown)


async def test_an_address_that_may_not_be_reached_is_permanently_not_sent() -> None:
    async with loopback(lambda _: answer(200)) as server:
        guarded = HttpClient()
        result = await HttpEffect([], guarded, NOW).send(sending({"url": server.url}, {}))
        await guarded.close()
        assert isinstance(result, NotSent)
        assert result.permanent
        assert server.connections == 0


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (answer(404), Absent()),
        (answer(200, b'{"status": "succeeded", "id": "j"}'), Succeeded({"status": "succeeded", "id": "j"}, "j")),
        (answer(200, b'{"status": "running"}'), Running()),
    ],
)
async def test_a_look_up_tells_what_became_of_it(client: HttpClient, reply: bytes, found: object) -> None:
    async with loopback(lambda _: reply) as server:
        target = {"url": server.url, "lookup": {"url": f"{server.url}/jobs/{{key}}"}}
        assert await http(server, client).lookup(sending(target, {})) == found
        assert server.arrivals[0].line == "GET /jobs/eff_1 HTTP/1.1"
        assert server.arrivals[0].headers["authorization"] == "Bearer s3cret"
        assert "idempotency-key" not in server.arrivals[0].headers


@pytest.mark.parametrize("reply", [answer(500), answer(202), answer(401), answer(302), answer(200, b"{"), Fault.DROP])
async def test_a_look_up_that_fails_tells_nothing(client: HttpClient, reply: bytes | Fault) -> None:
    async with loopback(lambda _: reply) as server:
        target = {"url": server.url, "lookup": {"url": server.url}}
        assert isinstance(await http(server, client).lookup(sending(target, {})), CannotTell)
        assert len(server.arrivals) == 1
