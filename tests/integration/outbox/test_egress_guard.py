"""The guard sits where the connection is made: no spelling, name or answer of a name server gets around it."""

import socket
from typing import Any

import pytest
from aiohttp.abc import AbstractResolver
from yarl import URL

from outbox.adapter import NotSent, Unknown
from outbox.client import Answer, HttpClient
from outbox.egress import EgressPolicy, parse_allow
from tests.integration.outbox.loopback import answer, loopback


class Rebinding(AbstractResolver):
    """Gives the next answer at each question, the last one for ever."""

    def __init__(self, *answers: str) -> None:
        self.answers = answers
        self.asked = 0

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> Any:
        found = self.answers[min(self.asked, len(self.answers) - 1)]
        self.asked += 1
        return [
            {"hostname": host, "host": found, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0},
        ]

    async def close(self) -> None:
        return None


async def call(client: HttpClient, url: str) -> Answer | NotSent | Unknown:
    """Without `check_url` on purpose: the connector has to hold alone."""
    try:
        return await client.exchange("POST", URL(url), {}, b"{}", 5.0)
    finally:
        await client.close()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f.0.0.1", "127.0.0.1.", "0.0.0.0", "localhost"],
)
async def test_loopback_is_not_reached_under_any_spelling(host: str) -> None:
    async with loopback(lambda _: answer(200)) as server:
        result = await call(HttpClient(EgressPolicy()), f"http://{host}:{server.port}/")
        assert isinstance(result, NotSent)
        assert result.permanent
        assert server.connections == 0


async def test_a_name_that_leads_to_loopback_is_not_reached() -> None:
    async with loopback(lambda _: answer(200)) as server:
        result = await call(
            HttpClient(EgressPolicy(), resolver=Rebinding("127.0.0.1")), f"http://evil.test:{server.port}/"
        )
        assert isinstance(result, NotSent)
        assert result.permanent
        assert "EgressRefused" in result.reason
        assert server.connections == 0


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    names = Rebinding("127.0.0.1", "127.0.0.2")
    async with loopback(lambda _: answer(200)) as server:
        policy = parse_allow(f"127.0.0.1:{server.port}")
        result = await call(HttpClient(policy, resolver=names), f"http://hooks.test:{server.port}/")
        assert isinstance(result, Answer)
        assert names.asked == 1
        assert server.arrivals[0].headers["host"] == f"hooks.test:{server.port}"


async def test_a_name_that_moves_to_loopback_later_is_not_followed_there() -> None:
    async with loopback(lambda _: answer(200, Connection="close")) as server:
        names = Rebinding("127.0.0.2", "127.0.0.1")
        client = HttpClient(parse_allow("127.0.0.2"), resolver=names)
        await call(client, f"http://moving.test:{server.port}/")
        result = await call(client, f"http://moving.test:{server.port}/")  # a new connector: nothing is cached
        assert names.asked == 2
        assert isinstance(result, NotSent)
        assert result.permanent
        assert server.arrivals == []


async def test_an_allowed_name_is_reached() -> None:
    async with loopback(lambda _: answer(200)) as server:
        result = await call(HttpClient(parse_allow("localhost")), f"http://localhost:{server.port}/")
        assert isinstance(result, Answer)
