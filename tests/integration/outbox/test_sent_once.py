"""One attempt is one request on the wire, whatever goes wrong, and what went wrong is told truly."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver
from yarl import URL

from outbox.adapter import NotSent, Unknown
from outbox.client import Answer, AnswerEnd, ClientLimits, HttpClient
from outbox.egress import parse_allow
from tests.integration.outbox.loopback import Arrival, Fault, answer, loopback

METHODS = ["POST", "PUT", "DELETE", "GET", "PATCH"]
ALLOW = parse_allow("127.0.0.1, localhost")


class Unanswering(AbstractResolver):
    """A name server that never answers, or that knows no name."""

    def __init__(self, *, hangs: bool) -> None:
        self._hangs = hangs

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET) -> Any:
        if self._hangs:
            await asyncio.Event().wait()
        raise OSError(-2, "Name or service not known")

    async def close(self) -> None:
        return None


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    one = HttpClient(ALLOW, ClientLimits(answer_bytes_max=1_000))
    yield one
    await one.close()


async def send(
    client: HttpClient, url: str, method: str = "POST", timeout_s: float = 5.0
) -> Answer | NotSent | Unknown:
    body = None if method in ("GET", "DELETE") else b"{}"
    return await client.exchange(method, URL(url), {}, body, timeout_s)


@pytest.mark.parametrize("method", METHODS)
async def test_a_connection_that_drops_after_the_request_is_unknown_and_not_repeated(
    client: HttpClient, method: str
) -> None:
    async with loopback(lambda _: Fault.DROP) as server:
        assert isinstance(await send(client, server.url, method), Unknown)
        assert len(server.arrivals) == 1


@pytest.mark.parametrize("method", METHODS)
async def test_a_kept_connection_that_drops_is_unknown_and_not_repeated(client: HttpClient, method: str) -> None:
    def first_good(_: Arrival) -> bytes | Fault:
        return answer(200) if len(server.arrivals) == 1 else Fault.DROP

    async with loopback(first_good) as server:
        assert isinstance(await send(client, server.url, method), Answer)
        assert isinstance(await send(client, server.url, method), Unknown)
        assert [arrival.connection for arrival in server.arrivals] == [1, 1]


@pytest.mark.parametrize("method", METHODS)
async def test_an_answer_that_does_not_come_is_unknown_and_not_repeated(client: HttpClient, method: str) -> None:
    async with loopback(lambda _: Fault.HANG) as server:
        assert isinstance(await send(client, server.url, method, timeout_s=0.1), Unknown)
        assert len(server.arrivals) == 1


@pytest.mark.parametrize("method", METHODS)
async def test_a_server_error_is_answered_once(client: HttpClient, method: str) -> None:
    async with loopback(lambda _: answer(500)) as server:
        result = await send(client, server.url, method)
        assert isinstance(result, Answer)
        assert (result.status, len(server.arrivals)) == (500, 1)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(client: HttpClient, status: int) -> None:
    async with loopback(lambda _: answer(status, Location="/elsewhere")) as server:
        result = await send(client, server.url)
        assert isinstance(result, Answer)
        assert (result.status, len(server.arrivals)) == (status, 1)


async def test_aiohttp_left_alone_would_send_twice() -> None:
    # The reason for switching it off; when this fails, the switch can go.
    async with loopback(lambda _: Fault.DROP) as server, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.put(server.url, data=b"{}")
        assert len(server.arrivals) == 2


async def test_nobody_listening_proves_that_nothing_was_sent(client: HttpClient) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = await send(client, f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert isinstance(result, NotSent)
    assert not result.permanent


async def test_a_failed_tls_handshake_proves_that_nothing_was_sent(client: HttpClient) -> None:
    async with loopback(lambda _: answer(200)) as server:
        result = await send(client, server.url.replace("http:", "https:"))
        assert isinstance(result, NotSent)
        assert server.arrivals == []


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_name_that_does_not_resolve_proves_that_nothing_was_sent(hangs: bool) -> None:
    client = HttpClient(ALLOW, ClientLimits(connect_timeout_s=0.05), Unanswering(hangs=hangs))
    result = await send(client, "http://name.test/")
    await client.close()
    assert isinstance(result, NotSent)
    assert not result.permanent


async def test_waiting_in_vain_for_a_free_connection_proves_that_nothing_was_sent() -> None:
    client = HttpClient(ALLOW, ClientLimits(connections_max=1))
    async with loopback(lambda _: Fault.HANG) as server:
        first = asyncio.create_task(send(client, server.url))
        await server.arrived.wait()
        assert isinstance(await send(client, server.url, timeout_s=0.1), NotSent)
        assert len(server.arrivals) == 1
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
    await client.close()


@pytest.mark.parametrize(
    "reply", [b"", b"HTTP/1.1 200", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
)
async def test_an_answer_that_is_not_http_is_unknown(client: HttpClient, reply: bytes) -> None:
    async with loopback(lambda _: reply or Fault.DROP) as server:
        assert isinstance(await send(client, server.url, timeout_s=0.2), Unknown)
        assert len(server.arrivals) == 1


async def test_an_answer_that_breaks_off_keeps_its_status(client: HttpClient) -> None:
    async with loopback(lambda _: answer(200, b"half", claimed=8, Connection="close")) as server:
        result = await send(client, server.url)
        assert isinstance(result, Answer)
        assert (result.status, result.body, result.end) == (200, b"half", AnswerEnd.CUT)
        assert len(server.arrivals) == 1


async def test_a_long_answer_is_read_up_to_its_bound(client: HttpClient) -> None:
    async with loopback(lambda _: answer(200, b"x" * 100_000)) as server:
        result = await send(client, server.url)
        assert isinstance(result, Answer)
        assert (len(result.body), result.end) == (1_000, AnswerEnd.CAPPED)
        assert isinstance(await send(client, server.url), Answer)


async def test_a_compressed_answer_is_not_unpacked(client: HttpClient) -> None:
    async with loopback(lambda _: answer(200, b"packed", Content_Encoding="gzip")) as server:
        result = await send(client, server.url)
        assert isinstance(result, Answer)
        assert result.body == b"packed"
        assert server.arrivals[0].headers["accept-encoding"] == "identity"


async def test_connections_are_reused_and_cookies_are_not(client: HttpClient) -> None:
    async with loopback(lambda _: answer(200, Set_Cookie="a=b")) as server:
        for _ in range(3):  # by name: cookies of literal addresses would not be kept anyway
            await send(client, server.url.replace("127.0.0.1", "localhost"))
        assert server.connections == 1
        assert all("cookie" not in arrival.headers for arrival in server.arrivals)


async def test_proxies_from_the_environment_are_not_used(client: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback(lambda _: answer(200)) as server, loopback(lambda _: answer(200)) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        await send(client, server.url)
        assert (len(server.arrivals), proxy.connections) == (1, 0)


async def test_close_may_be_called_twice_and_a_later_call_opens_again(client: HttpClient) -> None:
    async with loopback(lambda _: answer(200)) as server:
        await send(client, server.url)
        await client.close()
        await client.close()
        assert isinstance(await send(client, server.url), Answer)
        assert server.connections == 2
