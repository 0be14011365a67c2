"""The doors of a server on loopback, over a real store and bus; nothing runs what they accept."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from consumers.bus import Bus, StoreBus
from consumers.operator import Operator
from router.hooks import Hook
from router.http.auth import KnownToken, Principal, Tokens, admin_token, hashed
from router.http.server import Server, make_application
from router.http.services import Services
from router.namespace import Namespace
from router.rules import Routing
from router.signatures import sign_github
from router.trail import Trail
from router.webchat import WebChat
from sessionstore.clock import Clock, SystemClock
from sessionstore.event import Event
from sessionstore.inbox import SessionRef
from sessionstore.sqlite.store import SqliteStore

ADMIN = "admin-token"
SECRET = "It's a Secret to Everybody"
WHSEC = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OLD_WHSEC = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
ANSWER_S = 10.0
ROWS_MAX = 1_000
GITHUB = Path(__file__).parents[2] / "data/github"
PAYLOADS = {path.name: path.read_bytes() for path in sorted((GITHUB / "payloads").iterdir())}
ISSUE = PAYLOADS["issues.opened.payload.json"]


def hooks(**settings: Any) -> dict[str, Hook]:
    """A door of each kind; `settings` go to the GitHub one."""
    return {
        "github": Hook("github", "github", (SECRET,), agent="ci", **settings),
        "billing": Hook("billing", "standard", (WHSEC, OLD_WHSEC), agent="ci", reply_to="crm"),
    }


@dataclass(slots=True)
class Opened:
    """An open server."""

    store: SqliteStore
    bus: Bus
    trail: Trail
    port: int
    http: aiohttp.ClientSession

    async def post(self, path: str, body: bytes | BytesIO, headers: Mapping[str, str]) -> tuple[int, Any]:
        """Status and decoded body of one POST."""
        async with self.http.post(f"http://127.0.0.1:{self.port}{path}", data=body, headers=headers) as answer:
            raw = await answer.read()
            assert answer.content_type == ("application/json" if answer.ok else "application/problem+json")
            if answer.status == 503:
                assert int(answer.headers["Retry-After"]) > 0
            return answer.status, orjson.loads(raw)

    async def event(self, body: Any, token: str = ADMIN, **headers: str) -> tuple[int, Any]:
        """One POST of /v1/events; `Idempotency_Key="x"` gives that header."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        raw = body if isinstance(body, bytes) else orjson.dumps(body)
        return await self.post("/v1/events", raw, {"Authorization": f"Bearer {token}", **sent})

    async def raw(self, *pieces: bytes) -> tuple[int, Any]:
        """Send bytes as they are and read one answer, whatever it does to the connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            async with asyncio.timeout(ANSWER_S):
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                head = await reader.readuntil(b"\r\n\r\n")
                [length] = [x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")]
                body = await reader.readexactly(int(length.split(b":")[1]))
            return int(head.split()[1]), orjson.loads(body)
        finally:
            writer.close()

    async def stored(self) -> list[Event]:
        """Every queued event, in order."""
        heads = await self.store.reads.sessions(None, limit=ROWS_MAX)
        refs = [SessionRef(head["tenant"], head["session"]) for head in heads]
        rows = [row for ref in refs for row in await self.store.inbox.queued(ref, ROWS_MAX)]
        return [row.event for row in sorted(rows, key=lambda row: row.pos)]

    async def lines(self, action: str) -> list[dict[str, Any]]:
        """Audit lines whose action begins so."""
        await self.trail.close()
        return [x for x in await self.store.reads.trail(limit=ROWS_MAX) if x["action"].startswith(action)]


@asynccontextmanager
async def opened(
    path: Path,
    *,
    doors: Mapping[str, Hook] | None = None,
    bus: Callable[[SqliteStore], Bus] = lambda store: StoreBus(store.inbox),
    agents: Sequence[str] = ("ci", "main"),
    clock: Clock | None = None,
) -> AsyncIterator[Opened]:
    """Open the doors over a store at `path`; open them again there to see what lasted."""
    clock = clock or SystemClock()
    store = SqliteStore(path / "doors.sqlite", clock)
    routing = Routing(agents=tuple(agents))
    trail = Trail(store.operations, clock)
    services = Services(
        store=store,
        bus=(made := bus(store)),
        routing=routing,
        tokens=Tokens([admin_token(ADMIN, "default"), *tokens()]),
        trail=trail,
        clock=clock,
        webchat=WebChat(store, made, routing, clock, b"cookie"),
        operator=Operator(store, clock),
        hooks=hooks() if doors is None else doors,
        endpoints=frozenset({"crm"}),
        ready=lambda: "",
        cookie_secret=b"cookie",
    )
    server = Server(make_application(services), "127.0.0.1", 0)
    try:
        port = await server.start()
        async with aiohttp.ClientSession() as http:
            yield Opened(store, made, trail, port, http)
    finally:
        await server.stop()
        await trail.close()
        await store.close()


def tokens() -> list[KnownToken]:
    """Scoped tokens: two that may write, one that may only read, one of another tenant."""
    return [
        scoped("ci-token", "ci", Namespace("default", "ci", agents=frozenset({"ci"}))),
        scoped("sales-token", "sales", Namespace("default", "sales")),
        scoped("reader-token", "reader", Namespace("default", "reader"), "read"),
        scoped("other-token", "ci", Namespace("other", "ci")),
    ]


def scoped(token: str, name: str, namespace: Namespace, scope: str = "write") -> KnownToken:
    return KnownToken(hashed(token), Principal(name, frozenset({scope}), namespace))


def from_github(name: str, body: bytes, delivery: str, secret: str = SECRET) -> dict[str, str]:
    """The headers that GitHub sends for a payload of the test data."""
    return {
        "X-GitHub-Event": name.split(".")[0],
        "X-GitHub-Delivery": delivery,
        "X-GitHub-Hook-ID": "109948940",
        "Content-Type": "application/json",
        "X-Hub-Signature-256": sign_github(body, secret),
    }


def assert_problem(answer: tuple[int, Any], status: int, code: str) -> dict[str, Any]:
    """The answer is that problem, complete; returns the document."""
    found, document = answer
    assert (found, document["status"], document["code"]) == (status, status, code), document
    assert {"type", "title", "status", "detail", "code", "hint", "retryable"} <= document.keys()
    assert document["type"].endswith(f"/{code}")
    assert document["title"]
    assert document["detail"]
    assert document["hint"]
    assert document["retryable"] is (status == 503)
    return dict(document)


def archive(path: Path) -> None:
    """Archive every session, as an operator will be able to."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE session SET status = 'archived'")
