"""A whole server on loopback: a real store, bus, engine and HTTP application, and clients of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson
from yarl import URL

from consumers.agent import Agent, App
from consumers.bus import StoreBus
from consumers.operator import Operator
from consumers.outcome import Decision
from consumers.turn import Turn
from router.http.auth import KnownToken, Principal, Tokens, admin_token, hashed
from router.http.chat import CHAT_LIMITS
from router.http.chatsocket import ChatLimits
from router.http.server import Server, make_application
from router.http.services import Services
from router.namespace import Namespace
from router.rules import Routing
from router.trail import Trail
from router.webchat import WebChat
from sessionstore.clock import SystemClock
from sessionstore.errors import BadInput
from sessionstore.event import Event
from sessionstore.inbox import NewRow
from sessionstore.key import SessionKey
from sessionstore.sqlite.store import SqliteStore
from turnline.engine import Engine

ADMIN = "admin-token"
WAIT_S = 20.0
FLOOD_REPLIES = 150
FLOOD_CHARS = 90_000


def demo(gate: asyncio.Event) -> App:
    """An agent that says what it heard, asks, gives up, floods, waits, or calls an adapter that is not here."""
    agent: Agent[Any] = Agent("demo")

    @agent.on("message")
    async def said(turn: Turn[Any]) -> None:
        match turn.message.text.split():
            case ["ask", *words]:
                turn.ask(" ".join(words) or "Deploy?", then=decided)
            case ["fail"]:
                raise BadInput("asked to fail", hint="ask for something else")
            case ["wait"]:
                await gate.wait()
                turn.reply("waited")
            case ["flood"]:
                for _ in range(FLOOD_REPLIES):
                    turn.reply("x" * FLOOD_CHARS)
            case ["elsewhere", *words]:
                turn.send(" ".join(words), {"adapter": "elsewhere", "lane": "elsewhere"})
            case ["request"]:
                turn.request("partner", {"order": 7}, adapter="elsewhere")
            case _:
                turn.reply(f"heard {turn.message.text}")

    @agent.continuation
    async def decided(turn: Turn[Any], decision: Decision) -> None:
        turn.reply(f"{decision.status} by {decision.by}")

    @agent.on("build.done")
    async def build(turn: Turn[Any]) -> None:
        turn.phase("built")

    return App(agents=[agent])


def scoped_token(token: str, name: str, *scopes: str) -> KnownToken:
    """A token that is no administrator's: its own area under any agent."""
    return KnownToken(hashed(token), Principal(name, frozenset(scopes), Namespace("default", name)))


@dataclass(slots=True)
class Served:
    """A running server."""

    store: SqliteStore
    bus: StoreBus
    webchat: WebChat
    url: str
    http: aiohttp.ClientSession
    gate: asyncio.Event
    reason: list[str] = field(default_factory=list)

    async def ask(
        self, method: str, path: str, *, token: str = ADMIN, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """One request of the API, its path as it is; status and decoded body."""
        sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        address = URL(self.url + path, encoded=True)
        data = None if body is None else orjson.dumps(body)
        async with self.http.request(method, address, headers=sent, data=data) as answer:
            raw = await answer.read()
            return answer.status, orjson.loads(raw) if raw else None

    async def get(self, path: str, **more: Any) -> Any:
        """The body of a GET that must succeed."""
        status, body = await self.ask("GET", path, **more)
        assert status == 200, body
        return body

    async def publish(
        self, key: SessionKey, text: str = "hello", *, event_id: str = "e1", type_: str = "message"
    ) -> None:
        """An event from an API caller, without a route for replies."""
        event = Event("default", f"test {key}", event_id, type_, key.text, key.agent, {"text": text})
        await self.bus.publish([NewRow(event)])

    async def cookie(self) -> str:
        """A new visitor's cookie."""
        async with self.http.get(f"{self.url}/chat") as page:
            assert page.status == 200
            return page.cookies["turnline_chat"].value

    async def turn_closed(self, session: str, turns: int = 1) -> list[dict[str, Any]]:
        """The transcript, once so many turns have committed; waits on the session's stream."""
        seen: list[dict[str, Any]] = []
        async for event in self.stream(session):
            seen.append(event)
            if sum(one["type"] == "turn.closed" for one in seen) == turns:
                break
        return seen

    async def stream(
        self, session: str, *, last: int | None = None, token: str = ADMIN
    ) -> AsyncIterator[dict[str, Any]]:
        """A session's events as they come."""
        headers = {"Authorization": f"Bearer {token}", **({} if last is None else {"Last-Event-ID": str(last)})}
        address = URL(f"{self.url}{path_of(session)}/stream", encoded=True)
        async with asyncio.timeout(WAIT_S), self.http.get(address, headers=headers) as answer:
            assert answer.status == 200, await answer.read()
            assert answer.content_type == "text/event-stream"
            number = ""
            async for line in answer.content:
                if line.startswith(b"id: "):
                    number = line[4:].decode().strip()
                if line.startswith(b"data: "):
                    event = orjson.loads(line[6:])
                    assert str(event["seq"]) == number
                    yield event

    @asynccontextmanager
    async def chat(
        self, cookie: str, *, after: int = 0, agent: str = "", origin: str | None = None
    ) -> AsyncIterator["Chat"]:
        """A page's socket, greeted."""
        async with self.http.ws_connect(
            f"{self.url}/v1/chat/ws?after={after}&agent={quote(agent)}",
            headers={"Origin": self.url if origin is None else origin, "Cookie": f"turnline_chat={cookie}"},
            max_msg_size=0,
        ) as socket:
            yield Chat(socket)


class Chat:
    """A page: reads frames in order, and remembers them."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.frames: list[dict[str, Any]] = []

    async def until(self, told: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next frame that is meant; those before it are remembered."""
        async with asyncio.timeout(WAIT_S):
            while True:
                frame: dict[str, Any] = await self.socket.receive_json(loads=orjson.loads)
                self.frames.append(frame)
                if told(frame):
                    return frame

    async def ever(self, told: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first frame that is meant, of those that came already or the next ones."""
        return next((frame for frame in self.frames if told(frame)), None) or await self.until(told)

    async def of(self, type_: str) -> dict[str, Any]:
        """The next frame of a type."""
        return await self.until(lambda frame: frame["type"] == type_)

    async def item(self, kind: str) -> dict[str, Any]:
        """The first live item of a kind."""
        frame = await self.ever(lambda frame: frame["type"] == "item" and frame["item"]["kind"] == kind)
        item: dict[str, Any] = frame["item"]
        return item

    async def history(self) -> list[dict[str, Any]]:
        """All items of the greeting."""
        frame = await self.of("history")
        items: list[dict[str, Any]] = frame["items"]
        return items

    async def send(self, **frame: Any) -> None:
        """Send one frame."""
        await self.socket.send_str(orjson.dumps(frame).decode())

    async def say(self, text: str, client_msg_id: str) -> dict[str, Any]:
        """Send a message; what it was answered with."""
        await self.send(type="message", client_msg_id=client_msg_id, text=text)
        return await self.until(lambda frame: frame.get("client_msg_id") == client_msg_id)

    async def answer(self, wait_id: str, decision: str, client_msg_id: str) -> dict[str, Any]:
        """Answer a question; what that was answered with."""
        await self.send(type="answer", client_msg_id=client_msg_id, wait_id=wait_id, decision=decision)
        return await self.until(lambda frame: frame.get("client_msg_id") == client_msg_id)


def path_of(session: str) -> str:
    """The path of a session in the API."""
    return f"/v1/sessions/{quote(session, safe='')}"


@asynccontextmanager
async def served(
    folder: Path,
    *,
    runs: bool = True,
    tokens: Sequence[KnownToken] = (),
    routing: Routing | None = None,
    limits: ChatLimits | None = None,
) -> AsyncIterator[Served]:
    """A server over a store in `folder`; without `runs` nothing takes what is accepted."""
    clock, gate = SystemClock(), asyncio.Event()
    store = SqliteStore(folder / "turnline.sqlite", clock)
    bus = StoreBus(store.inbox)
    routing = routing or Routing(("demo",))
    trail = Trail(store.operations, clock)
    webchat = WebChat(store, bus, routing, clock, b"a secret of this test")
    store.listen(webchat.notice)
    reason: list[str] = []
    services = Services(
        store=store,
        bus=bus,
        routing=routing,
        tokens=Tokens([admin_token(ADMIN, "default"), *tokens]),
        trail=trail,
        clock=clock,
        webchat=webchat,
        operator=Operator(store, clock, demo(gate).by_name()),
        hooks={},
        endpoints=frozenset(),
        ready=lambda: reason[0] if reason else "",
        cookie_secret=b"a secret of this test",
    )
    application = make_application(services)
    application[CHAT_LIMITS] = limits or ChatLimits()
    engine = Engine(store, demo(gate), [webchat], clock, Random(1))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        if runs:
            await engine.start()
            stack.push_async_callback(engine.stop)
        server = Server(application, "127.0.0.1", 0)
        port = await server.start()
        stack.push_async_callback(server.stop)
        http = await stack.enter_async_context(aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()))
        yield Served(store, bus, webchat, f"http://127.0.0.1:{port}", http, gate, reason)
