"""The effect adapters under test. To add one, add a line to `ADAPTERS`: its name, and how to make it before a receiver.

A `Case` is an adapter with an address and its promises as data: what it cannot promise is said there, not skipped.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import aiohttp

from consumers.agent import Tool
from consumers.tools import ToolAdapter, ToolCall, ToolFailed, ToolNotReady
from outbox.adapter import (
    Absent,
    CannotTell,
    EffectAdapter,
    FailedThere,
    Idempotency,
    Limits,
    LookupResult,
    Running,
    Succeeded,
)
from outbox.client import HttpClient
from outbox.egress import parse_allow
from outbox.http import HttpEffect, HttpOrigin
from outbox.webhook import SignedWebhook, WebhookEndpoint

TIMEOUT_S = 0.4
NOW = 1_800_000_000.0


@dataclass(frozen=True, slots=True)
class Case:
    """`repeats`: it tells a 409 to a repeated key from a final no."""

    adapter: EffectAdapter
    target: Mapping[str, Any]
    body: Mapping[str, Any]
    idempotency: Idempotency
    repeats: bool = False


Maker = Callable[[str], Case]


def _limits(idempotency: Idempotency) -> Limits:
    return Limits(idempotency=idempotency, length_max=10_000, unit="byte", timeout_s=TIMEOUT_S)


def _client() -> HttpClient:
    return HttpClient(parse_allow("127.0.0.1"))


def _webhook(url: str) -> Case:
    secret = "whsec_" + base64.b64encode(b"k" * 32).decode()
    endpoint = WebhookEndpoint(f"{url}/work", (secret,), _limits(Idempotency.NATIVE))
    adapter = SignedWebhook({"crm": endpoint}, _client(), lambda: NOW)
    return Case(adapter, {"endpoint": "crm"}, {"n": 1}, Idempotency.NATIVE, repeats=True)


def _http(idempotency: Idempotency) -> Maker:
    def make(url: str) -> Case:
        adapter = HttpEffect([HttpOrigin(url, _limits(idempotency))], _client(), lambda: NOW)
        target = {"url": f"{url}/work", "lookup": {"url": f"{url}/jobs/{{key}}"}}
        repeats = idempotency is Idempotency.NATIVE
        return Case(adapter, target, {"method": "POST", "json": {"n": 1}}, idempotency, repeats=repeats)

    return make


def _tool(idempotency: Idempotency) -> Maker:
    def make(url: str) -> Case:
        async def act(call: ToolCall, n: int) -> Any:
            return await _post(f"{url}/work", call.key, n)

        async def look(call: ToolCall, n: int) -> LookupResult:
            return await _look(f"{url}/jobs/{call.key}")

        tool = Tool(
            "act",
            "a",
            act,
            lookup=look if idempotency is Idempotency.LOOKUP else None,
            idempotent=idempotency is Idempotency.NATIVE,
            timeout_s=TIMEOUT_S,
        )
        return Case(ToolAdapter(tool), {"tool": "act"}, {"arguments": {"n": 1}}, idempotency)

    return make


async def _post(url: str, key: str, n: int) -> Any:
    """What a careful tool does: it says what it knows, and lets everything else be unclear."""
    async with aiohttp.ClientSession() as session:
        try:
            response = await session.post(url, json={"n": n}, headers={"Idempotency-Key": key})
        except aiohttp.ClientConnectorError as error:
            raise ToolNotReady(str(error)) from error
        if response.status == 429:
            raise ToolNotReady("too many requests", retry_after_s=float(response.headers["Retry-After"]))
        if 400 <= response.status < 500:
            raise ToolFailed(f"HTTP {response.status}")
        response.raise_for_status()
        return await response.json()


async def _look(url: str) -> LookupResult:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        if response.status == 404:
            return Absent()
        if response.status != 200:
            return CannotTell(f"HTTP {response.status}")
        found = await response.json()
        states: dict[str, LookupResult] = {
            "succeeded": Succeeded(found, found["id"]),
            "running": Running(found["id"]),
            "failed": FailedThere("it failed there"),
        }
        return states.get(found["status"], CannotTell(found["status"]))


ADAPTERS: Mapping[str, Maker] = MappingProxyType(
    {
        "webhook": _webhook,
        "http-native": _http(Idempotency.NATIVE),
        "http-lookup": _http(Idempotency.LOOKUP),
        "http-none": _http(Idempotency.NONE),
        "tool-native": _tool(Idempotency.NATIVE),
        "tool-lookup": _tool(Idempotency.LOOKUP),
        "tool-none": _tool(Idempotency.NONE),
    }
)
