"""The web chat's socket: one connection of one peer to its session, over frames of JSON.

The server says `hello`, then `history` (everything after the number that the page named), then what is new: `item`,
`wait` and `typing`; it answers what the page sends with `accepted`, `error` or `pong`. A second `history` frame brings
items whose state has changed. Nothing is queued for a page: its connection reads the transcript at the page's own
pace, and a page that stops reading is cut off and reads on from its last number when it comes back.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Any, assert_never

import orjson
import structlog
from aiohttp import WSCloseCode, WSMsgType, web

from router.allowance import Allowance
from router.chatitem import CAN_CHANGE, Item, answer_word, on_this_channel
from router.http.chatframe import (
    AnswerFrame,
    ClientFrame,
    MessageFrame,
    PingFrame,
    TooFast,
    already_answered,
    decoded,
    error_frame,
    read_frame,
    wait_frame,
)
from router.hub import Subscription
from router.webchat import Visit, WebChat, no_such_question
from router.working import Working
from sessionstore.errors import BadInput, Overloaded, TurnlineError
from sessionstore.event import Kind
from sessionstore.inbox import InboxRow
from sessionstore.store import Store
from sessionstore.wait import Answered, NoSuchWait, NotOpen

log = structlog.get_logger(__name__)

FRAME_BYTES_MAX = 262_144
FRAMES_PER_S = 10.0
FRAMES_BURST_MAX = 250  # a page that was away sends all that it kept, up to 200
SEND_S = 15.0
TYPING_S = 60.0
PAGE_EVENTS = 100
HISTORY_CHARS_MAX = 1_000_000  # a frame; a longer history comes in several
CHANGING_MAX = 200


@dataclass(frozen=True, slots=True)
class ChatLimits:
    """What one connection may do. `send_s`: how long a page may leave what it is sent unread."""

    frames_per_s: float = FRAMES_PER_S
    frames_burst_max: int = FRAMES_BURST_MAX
    send_s: float = SEND_S
    typing_s: float = TYPING_S


class ChatSocket:
    """One connection. `run` returns when it is over, whoever ended it."""

    def __init__(
        self,
        socket: web.WebSocketResponse,
        abort: Callable[[], None],
        chat: WebChat,
        store: Store,
        visit: Visit,
        limits: ChatLimits,
    ) -> None:
        self._socket = socket
        self._abort = abort  # drops the connection without a handshake, which would wait for the same page to read
        self._chat = chat
        self._store = store
        self._visit = visit
        self._limits = limits
        self._allowance = Allowance(limits.frames_per_s, limits.frames_burst_max, chat.clock)
        self._working = Working(limits.typing_s, chat.clock)
        self._typing = False
        self._changing: dict[str, Item] = {}

    async def run(self, after: int) -> None:
        """Say hello, tell what came after `after`, then listen and tell until the end."""
        subscription = self._chat.hub.subscribe(self._visit.ref)
        try:
            await self._greet(subscription, after)
            telling = asyncio.ensure_future(self._tell_news(subscription))
            try:
                await self._listen()
            finally:
                telling.cancel()
                await asyncio.gather(telling, return_exceptions=True)
        except (TimeoutError, ConnectionError):
            # It does not read, or is gone; it comes back and reads on from where it was.
            log.info("chat.cut_off", session=self._visit.key.text)
        finally:
            self._chat.hub.unsubscribe(subscription)

    async def _greet(self, subscription: Subscription, after: int) -> None:
        head = await self._store.reads.session(self._visit.ref)
        newest = head["seq"] if head else 0
        subscription.seq = min(after, newest)
        hello = {"agent": self._visit.agent, "session_key": self._visit.key.text, "peer": self._visit.peer}
        await self._send({"type": "hello", **hello, "last_seq": newest, "epoch": head["epoch"] if head else 0})
        if head and head["status"] != "paused":
            now = self._chat.clock.now()
            self._working.arrived(row["pos"] for row in head["queued_rows"] if row["due"] <= now)
        told: list[Item] = []
        chars = 0
        async for events in self._unread(subscription):
            for item in await self._items(events):
                told.append(item)
                chars += len(item.get("text", ""))
            if chars >= HISTORY_CHARS_MAX:
                await self._send({"type": "history", "items": told})
                told, chars = [], 0
        await self._send({"type": "history", "items": told})
        await self._tell_typing(subscription)

    async def _tell_news(self, subscription: Subscription) -> None:
        try:
            while await subscription.wait():
                if subscription.closed:
                    await self._socket.close(code=WSCloseCode.GOING_AWAY, message=b"The server is stopping.")
                    return
                await self._tell_arrivals(subscription.take_arrivals())
                async for events in self._unread(subscription):
                    await self._tell_items(await self._items(events))
                await self._tell_changes()
                await self._tell_typing(subscription)
        except TurnlineError as error:
            # The page connects again and asks for the same; nothing was skipped.
            log.warning("chat.reading_failed", session=self._visit.key.text, code=error.code, error=str(error))
            await self._socket.close(code=WSCloseCode.TRY_AGAIN_LATER)
        except (TimeoutError, ConnectionError):
            self._abort()
        except Exception:
            log.exception("chat.broke", session=self._visit.key.text)
            await self._socket.close(code=WSCloseCode.INTERNAL_ERROR)

    async def _unread(self, subscription: Subscription) -> AsyncIterator[list[dict[str, Any]]]:
        """Pages of what was not read yet; whatever was yielded counts as read."""
        while True:
            events = await self._store.reads.transcript(self._visit.ref, after=subscription.seq, limit=PAGE_EVENTS)
            if events:
                yield events
                subscription.seq = events[-1]["seq"]
            if len(events) < PAGE_EVENTS:
                return

    async def _items(self, events: list[dict[str, Any]]) -> list[Item]:
        for event in events:
            if event["type"] == "turn.closed":
                self._working.closed(event["body"]["members"])
        found = await self._chat.items(self._visit, events)
        self._watch(found)
        return found

    def _watch(self, found: Iterable[Item]) -> None:
        for item in found:
            if item.get("state") in CAN_CHANGE:
                self._changing[item["effect_id"]] = item
        while len(self._changing) > CHANGING_MAX:
            del self._changing[next(iter(self._changing))]

    async def _tell_arrivals(self, rows: list[InboxRow]) -> None:
        now = self._chat.clock.now()
        self._working.arrived(row.pos for row in rows if row.due <= now)
        for row in rows:
            event = row.event
            if event.kind is Kind.ANSWER and on_this_channel(event.reply_route):
                await self._send(wait_frame(event.data["wait_id"], event.data["status"], event.data["answer"]))

    async def _tell_items(self, found: list[Item]) -> None:
        for item in found:
            await self._send({"type": "item", "item": item})
            if item["kind"] == "answer":
                await self._send(wait_frame(item["wait_id"], item["status"], item["answer"]))

    async def _tell_changes(self) -> None:
        if not self._changing:
            return
        states = await self._store.reads.effect_states(tuple(self._changing))
        changed = [
            {**item, "state": states[effect_id]}
            for effect_id, item in self._changing.items()
            if effect_id in states and states[effect_id] != item["state"]
        ]
        for item in changed:
            del self._changing[item["effect_id"]]
        self._watch(changed)
        if changed:
            await self._send({"type": "history", "items": changed})

    async def _tell_typing(self, subscription: Subscription) -> None:
        working = bool(self._working)
        subscription.restless = working or bool(self._changing)
        if working != self._typing:
            self._typing = working
            await self._send({"type": "typing", "on": working})

    async def _listen(self) -> None:
        async for message in self._socket:
            if message.type is not WSMsgType.TEXT:
                await self._send_error(BadInput("frames are text", hint="send JSON as text frames"), None)
                continue
            await self._hear(message.data)

    async def _hear(self, text: str) -> None:
        client_msg_id: str | None = None
        try:
            body = decoded(text)
            given = body.get("client_msg_id")
            client_msg_id = given if isinstance(given, str) else None
            if not self._allowance.take():
                raise TooFast("too many frames at once", hint=f"send at most {self._limits.frames_per_s:g} a second")
            await self._act(read_frame(body))
        except TurnlineError as error:
            await self._send_error(error, client_msg_id)
        except (TimeoutError, ConnectionError):
            raise
        except Exception:
            log.exception("chat.broke", session=self._visit.key.text)
            ours = Overloaded("an error of ours; it is in the log", hint="try again later")
            await self._send_error(ours, client_msg_id)

    async def _act(self, frame: ClientFrame) -> None:
        match frame:
            case MessageFrame(client_msg_id=client_msg_id, text=text):
                posted = await self._chat.post(self._visit, client_msg_id, text)
                await self._send_accepted(client_msg_id, posted.event_id, posted.duplicate)
            case AnswerFrame():
                await self._answer(frame)
            case PingFrame():
                await self._send({"type": "pong"})
            case _:
                assert_never(frame)

    async def _answer(self, frame: AnswerFrame) -> None:
        result = await self._chat.answer(self._visit, frame.wait_id, frame.decision)
        match result:
            case Answered(wait_id=wait_id):
                await self._send_accepted(frame.client_msg_id, wait_id, False)
            case NotOpen(answered_by=by, answer=answer) if by == self._visit.actor and answer == answer_word(
                frame.decision
            ):
                await self._send_accepted(frame.client_msg_id, frame.wait_id, True)
            case NotOpen(status=status, answer=answer):
                await self._send(wait_frame(frame.wait_id, status.value, answer))
                raise already_answered(result)
            case NoSuchWait():
                raise no_such_question()
            case _:
                assert_never(result)

    async def _send_accepted(self, client_msg_id: str, event_id: str, duplicate: bool) -> None:
        body = {"client_msg_id": client_msg_id, "event_id": event_id, "duplicate": duplicate}
        await self._send({"type": "accepted", **body})

    async def _send_error(self, error: TurnlineError, client_msg_id: str | None) -> None:
        await self._send(error_frame(error, client_msg_id))

    async def _send(self, frame: dict[str, Any]) -> None:
        """Raises TimeoutError for a page that does not read; what it missed it will ask for."""
        try:
            async with asyncio.timeout(self._limits.send_s):
                await self._socket.send_str(orjson.dumps(frame).decode())
        except TimeoutError:
            self._abort()
            raise
