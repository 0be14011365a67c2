"""The web chat end to end: each visitor sees its own conversation, nothing is lost, doubled or open to others."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from yarl import URL

from router.bindings import Binding
from router.http.chatsocket import FRAME_BYTES_MAX, ChatLimits
from router.hub import Subscription
from router.rules import Routing
from sessionstore.inbox import SessionRef
from tests.integration.api.served import FLOOD_REPLIES, WAIT_S, Served, path_of, served


def texts(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(item["kind"], item["text"]) for item in items]


async def test_a_message_is_acknowledged_shown_and_answered(server: Served) -> None:
    async with server.chat(await server.cookie()) as chat:
        hello = await chat.of("hello")
        assert (hello["agent"], hello["last_seq"], hello["epoch"]) == ("demo", 0, 0)
        assert hello["session_key"] == f"agent:demo/webchat:default/dm:{hello['peer']}"
        assert await chat.history() == []
        accepted = await chat.say("hi", "c1")
        assert accepted == {
            "type": "accepted",
            "client_msg_id": "c1",
            "event_id": f"{hello['peer']}.c1",
            "duplicate": False,
        }
        mine = await chat.item("message.in")
        theirs = await chat.item("message.out")
        assert (mine["text"], mine["client_msg_id"], theirs["text"]) == ("hi", "c1", "heard hi")
        assert mine["seq"] < theirs["seq"]


async def test_the_agent_is_said_to_work_from_the_message_to_its_turns_commit(server: Served) -> None:
    cookie = await server.cookie()
    async with server.chat(cookie) as chat, server.chat(cookie) as other:
        await other.history()
        await chat.say("wait", "c1")
        for page in (chat, other):
            assert (await page.ever(lambda f: f["type"] == "typing"))["on"]
        async with server.chat(cookie) as reloaded:
            assert (await reloaded.of("typing"))["on"]
        server.gate.set()
        for page in (chat, other):
            await page.ever(lambda f: f["type"] == "typing" and not f["on"])
            assert [f["on"] for f in page.frames if f["type"] == "typing"] == [True, False]
            assert (await page.item("message.out"))["text"] == "waited"


async def test_two_chats_side_by_side_do_not_mix(server: Served) -> None:
    async def talk(cookie: str, name: str) -> list[str]:
        async with server.chat(cookie) as chat:
            for n in range(3):
                await chat.send(type="message", client_msg_id=f"same{n}", text=f"{name} {n}")
            await chat.until(lambda f: f["type"] == "item" and f["item"]["text"] == f"heard {name} 2")
            return [f["item"]["text"] for f in chat.frames if f["type"] == "item"]

    cookies = [await server.cookie(), await server.cookie()]
    shown = await asyncio.gather(*(talk(cookie, name) for cookie, name in zip(cookies, ("a", "b"), strict=True)))
    for name, seen in zip(("a", "b"), shown, strict=True):
        assert sorted(seen) == sorted([f"{name} {n}" for n in range(3)] + [f"heard {name} {n}" for n in range(3)])


async def test_a_reload_shows_the_history_and_a_reconnect_only_what_is_new(server: Served) -> None:
    cookie = await server.cookie()
    async with server.chat(cookie) as chat:
        await chat.say("one", "c1")
        first = await chat.item("message.out")
    async with server.chat(cookie) as chat:
        hello = await chat.of("hello")
        items = await chat.history()
        assert texts(items) == [("message.in", "one"), ("message.out", "heard one")]
        assert hello["last_seq"] >= items[-1]["seq"]
        await chat.say("two", "c2")
        await chat.item("message.out")
    async with server.chat(cookie, after=first["seq"]) as chat:
        assert texts(await chat.history()) == [("message.in", "two"), ("message.out", "heard two")]


async def test_a_delivered_reply_says_so_after_a_reload(server: Served) -> None:
    cookie = await server.cookie()
    async with server.chat(cookie) as chat:
        await chat.say("one", "c1")
        shown = await chat.item("message.out")
        if shown["state"] != "delivered":
            await chat.until(
                lambda f: f["type"] == "history" and any(i.get("state") == "delivered" for i in f["items"])
            )
    async with server.chat(cookie) as chat:
        [_, reply] = await chat.history()
        assert reply["state"] == "delivered"


async def test_the_same_client_msg_id_is_one_message(server: Served) -> None:
    cookie = await server.cookie()
    async with server.chat(cookie) as chat:
        assert not (await chat.say("once", "c1"))["duplicate"]
        assert (await chat.say("once", "c1"))["duplicate"]
        await chat.item("message.out")
    async with server.chat(cookie) as again:
        await again.history()
        assert (await again.say("once", "c1"))["duplicate"]
        assert (await again.say("last", "c2"))["type"] == "accepted"
        await again.until(lambda f: f["type"] == "item" and f["item"]["text"] == "heard last")
    async with server.chat(cookie) as chat:
        assert [text for _, text in texts(await chat.history())] == ["once", "heard once", "last", "heard last"]


async def test_another_text_under_a_used_id_is_refused(server: Served) -> None:
    async with server.chat(await server.cookie()) as chat:
        await chat.say("once", "c1")
        refused = await chat.say("other", "c1")
        assert (refused["type"], refused["code"], refused["retryable"]) == ("error", "id_conflict", False)
        assert refused["hint"]


@pytest.mark.parametrize("tamper", [lambda c: "", lambda c: c[:-2], lambda c: f"{'0' * 32}.{c.partition('.')[2]}"])
async def test_a_missing_or_forged_cookie_opens_no_socket(server: Served, tamper: Any) -> None:
    cookie = tamper(await server.cookie())
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with server.chat(cookie):
            pass
    assert refused.value.status == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:1", "null", ""])
async def test_a_page_of_another_site_opens_no_socket(server: Served, origin: str) -> None:
    cookie = await server.cookie()
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with server.chat(cookie, origin=origin):
            pass
    assert refused.value.status == 403


async def test_the_page_sets_a_guarded_cookie_once_and_is_never_kept(server: Served) -> None:
    async with server.http.get(f"{server.url}/chat") as page:
        cookie = page.headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=31536000"):
            assert part in cookie
        assert "Secure" not in cookie
        assert page.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
        value = page.cookies["turnline_chat"].value
    async with server.http.get(f"{server.url}/chat", headers={"Cookie": f"turnline_chat={value}"}) as page:
        assert "Set-Cookie" not in page.headers
    async with server.http.get(f"{server.url}/chat", headers={"Cookie": f"turnline_chat={value}x"}) as page:
        assert page.cookies["turnline_chat"].value != value
    async with server.http.get(f"{server.url}/chat", headers={"X-Forwarded-Proto": "https"}) as page:
        assert "Secure" in page.headers["Set-Cookie"]


async def test_the_first_answer_wins_and_the_second_is_told_who_was_first(server: Served) -> None:
    cookie = await server.cookie()
    async with server.chat(cookie) as chat, server.chat(cookie) as other:
        peer = (await chat.of("hello"))["peer"]
        await chat.say("ask Deploy now?", "c1")
        asked = await chat.item("ask")
        assert (asked["text"], asked["status"], asked["options"]) == ("Deploy now?", "open", ["approve", "reject"])
        assert (await chat.answer(asked["wait_id"], "approve", "c2"))["duplicate"] is False
        for page in (chat, other):
            told = await page.of("wait")
            assert (told["wait_id"], told["status"], told["answer"]) == (asked["wait_id"], "answered", "approved")
        answered = (await chat.ever(lambda f: f["type"] == "item" and f["item"]["kind"] == "answer"))["item"]
        assert (answered["answer"], answered["status"]) == ("approved", "answered")
        assert answered["client_msg_id"]
        said = f"approved by webchat:{peer}"
        assert await chat.ever(lambda f: f["type"] == "item" and f["item"].get("text") == said)
        assert (await chat.answer(asked["wait_id"], "approve", "c2"))["duplicate"] is True
        late = await other.answer(asked["wait_id"], "reject", "c3")
        assert (late["type"], late["code"]) == ("error", "already_answered")
        assert f"webchat:{peer}" in late["detail"]
        status, problem = await server.ask("POST", f"/v1/approvals/{asked['wait_id']}", body={"decision": "reject"})
        assert (status, problem["code"], problem["answered_by"]) == (409, "already_answered", f"webchat:{peer}")
        assert problem["answer"] == "approved"
        assert problem["answered_at"] > 0


async def test_a_question_answered_in_the_console_is_closed_in_the_chat(server: Served) -> None:
    cookie = await server.cookie()
    async with server.chat(cookie) as chat:
        await chat.say("ask", "c1")
        asked = await chat.item("ask")
        [listed] = (await server.get("/v1/approvals?status=open"))["approvals"]
        assert listed["id"] == asked["wait_id"]
        status, given = await server.ask(
            "POST", f"/v1/approvals/{asked['wait_id']}", body={"decision": "reject", "note": "not today"}
        )
        assert (status, given["answer"], given["answered_by"], given["note"]) == (200, "rejected", "admin", "not today")
        assert (await chat.of("wait"))["answer"] == "rejected"
        assert (await chat.item("message.out"))["text"] == "rejected by admin"
        late = await chat.answer(asked["wait_id"], "approve", "c2")
        assert late["code"] == "already_answered"
        assert "admin" in late["detail"]
    async with server.chat(cookie) as chat:
        items = await chat.history()
        [card] = [item for item in items if item["kind"] == "ask"]
        [answer] = [item for item in items if item["kind"] == "answer"]
        assert (card["status"], card["answer"]) == ("answered", "rejected")
        assert "client_msg_id" not in answer
    trail = await server.store.reads.trail()
    assert [(line["actor"], line["action"], line["target"]) for line in trail] == [
        ("admin", "approval.answer", asked["wait_id"])
    ]


async def test_a_question_of_another_chat_cannot_be_answered(server: Served) -> None:
    async with server.chat(await server.cookie()) as chat, server.chat(await server.cookie()) as stranger:
        await chat.say("ask", "c1")
        asked = await chat.item("ask")
        refused = await stranger.answer(asked["wait_id"], "approve", "s1")
        assert (refused["type"], refused["code"]) == ("error", "not_found")
        assert refused == {**await stranger.answer("no-such-id", "approve", "s1"), "client_msg_id": "s1"}
        [still] = (await server.get("/v1/approvals"))["approvals"]
        assert still["status"] == "open"


async def test_what_is_said_elsewhere_is_not_shown_in_the_chat(server: Served) -> None:
    async with server.chat(await server.cookie()) as chat:
        await chat.say("elsewhere a secret", "c1")
        await chat.say("hello", "c2")
        await chat.until(lambda f: f["type"] == "item" and f["item"]["text"] == "heard hello")
        assert [f["item"]["text"] for f in chat.frames if f["type"] == "item"] == [
            "elsewhere a secret",
            "hello",
            "heard hello",
        ]


async def test_a_turn_that_is_given_up_is_said(server: Served) -> None:
    async with server.chat(await server.cookie()) as chat:
        await chat.say("fail", "c1")
        assert "set aside" in (await chat.item("notice"))["text"]


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("not json", "bad_input"),
        ("[]", "bad_input"),
        ('{"type":"dance"}', "bad_input"),
        ('{"type":"message","client_msg_id":"c1","text":"  "}', "bad_input"),
        ('{"type":"message","client_msg_id":"c 1","text":"x"}', "bad_input"),
        ('{"type":"answer","client_msg_id":"c1","wait_id":"w","decision":"maybe"}', "bad_input"),
        ('{"type":"message","client_msg_id":"c1","text":"' + "x" * 16_001 + '"}', "too_large"),
    ],
)
async def test_a_frame_that_cannot_be_used_is_answered_with_why(quiet: Served, frame: str, code: str) -> None:
    async with quiet.chat(await quiet.cookie()) as chat:
        await chat.socket.send_str(frame)
        error = await chat.of("error")
        assert (error["code"], error["retryable"]) == (code, False)
        assert error["title"]
        assert error["detail"]
        assert error["hint"]
        await chat.send(type="ping")
        assert await chat.of("pong")


async def test_a_frame_over_the_limit_ends_the_connection(quiet: Served) -> None:
    async with quiet.chat(await quiet.cookie()) as chat:
        await chat.history()
        await chat.socket.send_str("x" * (FRAME_BYTES_MAX + 1))
        async with asyncio.timeout(WAIT_S):
            while not chat.socket.closed:
                await chat.socket.receive()
        assert chat.socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG


async def test_more_frames_than_allowed_are_refused_and_may_be_sent_again(tmp_path: Path) -> None:
    limits = ChatLimits(frames_per_s=0.001, frames_burst_max=2)
    async with served(tmp_path, runs=False, limits=limits) as server, server.chat(await server.cookie()) as chat:
        assert (await chat.say("one", "c1"))["type"] == "accepted"
        assert (await chat.say("two", "c2"))["type"] == "accepted"
        refused = await chat.say("three", "c3")
        assert (refused["code"], refused["retryable"]) == ("rate_limited", True)


async def test_an_agent_is_chosen_by_the_page_only_where_routing_lets_it(tmp_path: Path) -> None:
    routing = Routing(("demo", "ops", "sales"), "demo")
    async with served(tmp_path, routing=routing, runs=False) as server:
        cookie = await server.cookie()
        async with server.chat(cookie, agent="sales") as chat:
            assert (await chat.of("hello"))["agent"] == "sales"
        async with server.chat(cookie, agent="nobody") as chat:
            assert (await chat.of("error"))["code"] == "not_allowed"


async def test_a_binding_of_the_channel_is_not_overruled_by_the_page(tmp_path: Path) -> None:
    routing = Routing(("demo", "ops"), "ops", (Binding("demo", channel="webchat"),))
    async with served(tmp_path, routing=routing, runs=False) as server:
        cookie = await server.cookie()
        async with server.chat(cookie, agent="ops") as chat:
            assert (await chat.of("error"))["code"] == "not_allowed"
        async with server.chat(cookie, agent="demo") as chat:
            assert (await chat.of("hello"))["agent"] == "demo"


async def test_a_page_that_does_not_read_is_cut_off_and_finds_everything_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(tmp_path, limits=ChatLimits(send_s=0.3)) as server:
        cookie = await server.cookie()
        async with server.chat(cookie) as chat:
            session = (await chat.of("hello"))["session_key"]
            await chat.say("flood", "c1")
            await chat.item("message.out")
        await server.turn_closed(session)
        hub = server.webchat.hub
        opened: asyncio.Future[Subscription] = asyncio.get_running_loop().create_future()
        ended = asyncio.Event()
        open_, leave = hub.subscribe, hub.unsubscribe

        def subscribe(ref: SessionRef) -> Subscription:
            opened.set_result(open_(ref))
            return opened.result()

        def unsubscribe(one: Subscription) -> None:
            leave(one)
            if opened.done() and one is opened.result():
                ended.set()

        with monkeypatch.context() as watched, unread_socket(server.url, cookie):
            watched.setattr(hub, "subscribe", subscribe)
            watched.setattr(hub, "unsubscribe", unsubscribe)
            async with asyncio.timeout(WAIT_S):
                await ended.wait()
        async with server.chat(cookie) as chat:
            found: list[dict[str, Any]] = []
            while len(found) < FLOOD_REPLIES:
                found += [item for item in await chat.history() if item["kind"] == "message.out"]
            assert len({item["seq"] for item in found}) == len(found) == FLOOD_REPLIES


def unread_socket(url: str, cookie: str) -> socket.socket:
    """A WebSocket that is opened and never read."""
    address = URL(url)
    raw = socket.create_connection((address.host, address.port))
    lines = (
        "GET /v1/chat/ws?after=0 HTTP/1.1",
        f"Host: {address.authority}",
        f"Origin: {url}",
        f"Cookie: turnline_chat={cookie}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    )
    raw.sendall("\r\n".join((*lines, "", "")).encode())
    return raw


async def test_a_commit_of_another_process_is_shown_by_the_next_poll(server: Served) -> None:
    async with server.chat(await server.cookie()) as chat:
        session = (await chat.of("hello"))["session_key"]
        await chat.history()
        # As if it came from elsewhere: this process is not told.
        server.store._listeners.remove(server.webchat.notice)
        await chat.say("hi", "c1")
        assert (await chat.item("message.out"))["text"] == "heard hi"
        assert (await server.get(path_of(session)))["totals"]["turns"] == 1


async def test_a_stopping_server_tells_its_pages_to_come_again(tmp_path: Path) -> None:
    async with served(tmp_path, runs=False) as server, server.chat(await server.cookie()) as chat:
        await chat.history()
        await server.webchat.close()
        async with asyncio.timeout(WAIT_S):
            while not chat.socket.closed:
                await chat.socket.receive()
        assert chat.socket.close_code == aiohttp.WSCloseCode.GOING_AWAY
