"""One HTTP client for all outgoing effects: guarded, without memory between requests, and it never sends twice.

aiohttp repeats GET, PUT and DELETE by itself when a connection breaks, on a fresh connection too; here that is off,
because only the relay may repeat an effect. Cookies, redirects and proxies from the environment are off as well: none
of them may carry something from one session's effect into another's.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.connector import Connection
from yarl import URL

from outbox.adapter import NotSent, Unknown
from outbox.classify import classify_exception
from outbox.egress import EgressPolicy, GuardedConnector
from sessionstore.deadlines import Deadlines

BODY_BYTES_MAX = 1_048_576
USER_AGENT = "turnline"


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """Bounds of the shared client.

    `connect_timeout_s` covers TCP and TLS. Whatever the time ran out in before a request's first byte (that, DNS, or
    waiting for a connection), it proves that nothing was sent. `connections_max` is above what a relay has in flight,
    so that no request waits. `keepalive_s` is below the five seconds after which common servers close idle connections:
    a request that crosses with the close ends as unknown.
    """

    connections_max: int = 2_000
    connect_timeout_s: float = 10.0
    keepalive_s: float = 4.0
    answer_bytes_max: int = 65_536


class AnswerEnd(StrEnum):
    """How the body of an answer ended."""

    COMPLETE = "complete"
    CAPPED = "capped"  # longer than we read
    CUT = "cut"  # the connection broke or the time ran out


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; `body` holds at most `answer_bytes_max` bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    end: AnswerEnd


class _Progress:
    """Whether an exchange has come as far as writing its request."""

    __slots__ = ("sending",)

    def __init__(self) -> None:
        self.sending = False


_PROGRESS: ContextVar[_Progress] = ContextVar("turnline_exchange")


class _TellingRequest(aiohttp.ClientRequest):
    """Tells its exchange that from here on bytes may leave: what ran out of time before that was surely not sent."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        _PROGRESS.get().sending = True
        return await super().send(conn)


class HttpClient:
    """The client; its connections are opened in the loop that first sends. Shared by adapters; `close` may repeat."""

    def __init__(
        self,
        policy: EgressPolicy | None = None,
        limits: ClientLimits | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self.policy = policy or EgressPolicy()
        self.limits = limits or ClientLimits()
        self._resolver = resolver
        self._session: aiohttp.ClientSession | None = None
        self._deadlines = Deadlines()

    async def exchange(
        self, method: str, url: URL, headers: Mapping[str, str], body: bytes | None, timeout_s: float
    ) -> Answer | NotSent | Unknown:
        """Send one request, once, and read the answer. Raises nothing but cancellation.

        `url` must have passed the policy's `check_url`. `timeout_s` is for everything together.
        """
        session = self._session or self._open()
        progress = _Progress()
        _PROGRESS.set(progress)
        try:
            async with (
                self._deadlines.within(timeout_s),
                session.request(method, url, headers=headers, data=body, allow_redirects=False) as response,
            ):
                content, end = await self._read(response)
                return Answer(response.status, response.headers, content, end)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if isinstance(error, TimeoutError) and not progress.sending:
                return NotSent(f"no connection within {timeout_s:g} s")
            return classify_exception(error)

    async def close(self) -> None:
        """Close all connections. A later `exchange` opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _read(self, response: aiohttp.ClientResponse) -> tuple[bytes, AnswerEnd]:
        chunks = bytearray()
        try:
            while chunk := await response.content.readany():
                chunks += chunk
                if len(chunks) > self.limits.answer_bytes_max:
                    response.close()
                    return bytes(chunks[: self.limits.answer_bytes_max]), AnswerEnd.CAPPED
        except (aiohttp.ClientError, TimeoutError, OSError):
            return bytes(chunks[: self.limits.answer_bytes_max]), AnswerEnd.CUT
        return bytes(chunks), AnswerEnd.COMPLETE

    def _open(self) -> aiohttp.ClientSession:
        connector = GuardedConnector(
            self.policy,
            connections_max=self.limits.connections_max,
            keepalive_s=self.limits.keepalive_s,
            resolver=self._resolver,
        )
        # "identity": a small compressed answer may unpack to gigabytes.
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity"},
            auto_decompress=False,
            request_class=_TellingRequest,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self.limits.connect_timeout_s),
        )
        # There is no public switch for this; a test that counts arrivals holds it in place.
        session._retry_connection = False
        self._session = session
        return session
