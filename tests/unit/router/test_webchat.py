"""The web chat channel without I/O: who a visitor is, where its messages go, and that sending is only telling."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outbox.adapter import Delivered, Idempotency, Sending
from router.bindings import Binding
from router.http.chat import known_host, same_origin
from router.rules import Routing
from router.scopes import DmScope, Scopes
from router.webchat import TEXT_CODEPOINTS_MAX, WebChat
from sessionstore.errors import BadInput, NoRoute, NotAllowed, TooLarge
from sessionstore.inbox import SessionRef


class Stopped:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = 1_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


class Nothing:
    """A store of which nothing is asked."""

    reads = None
    waits = None


PEER = "0" * 31 + "1"


def chat(routing: Routing | None = None, *, secret: bytes = b"secret", tenant: str = "default") -> WebChat:
    store: Any = Nothing()
    routing = routing or Routing(("demo",))
    return WebChat(store, store, routing, Stopped(), secret, tenant, random_hex=lambda size: PEER)


def test_a_cookie_names_its_peer() -> None:
    assert chat().peer_of(chat().new_cookie()) == PEER


@given(st.text())
def test_no_text_that_this_server_did_not_sign_is_a_peer(text: str) -> None:
    assert chat().peer_of(text) is None
    assert chat().peer_of(f"{PEER}.{text}") is None


@pytest.mark.parametrize(
    "forge",
    [
        lambda cookie: cookie.replace("1.", "2."),
        lambda cookie: cookie[:-1],
        lambda cookie: cookie + "=",
        lambda cookie: cookie.upper(),
        lambda cookie: f" {cookie}",
        lambda cookie: cookie.replace(".", ""),
    ],
)
def test_a_changed_cookie_names_nobody(forge: Callable[[str], str]) -> None:
    forged = forge(chat().new_cookie())
    assert forged != chat().new_cookie()
    assert chat().peer_of(forged) is None


def test_a_cookie_of_another_secret_or_tenant_names_nobody() -> None:
    cookie = chat().new_cookie()
    assert chat(secret=b"other").peer_of(cookie) is None
    assert chat(tenant="other").peer_of(cookie) is None


def test_two_visitors_are_two_peers() -> None:
    store: Any = Nothing()
    real = WebChat(store, store, Routing(("demo",)), Stopped(), b"secret")
    assert real.peer_of(real.new_cookie()) != real.peer_of(real.new_cookie())


def test_a_message_becomes_an_event_that_can_be_answered() -> None:
    room = chat()
    row = room.inbound(room.visit(PEER), "c1", "hi")
    event = row.event
    assert (event.source, event.id, event.type, event.sender) == ("webchat:default", f"{PEER}.c1", "message", PEER)
    assert (event.session, event.agent) == (f"agent:demo/webchat:default/dm:{PEER}", "demo")
    assert event.data == {"text": "hi", "client_msg_id": "c1"}
    assert event.reply_route == {
        "adapter": "webchat",
        "lane": "webchat",
        "account": "default",
        "peer": PEER,
        "session": event.session,
    }
    assert row.shared
    assert row.body_hash != room.inbound(room.visit(PEER), "c1", "ho").body_hash


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_message_is_none(text: str) -> None:
    with pytest.raises(BadInput):
        chat().inbound(chat().visit(PEER), "c1", text)


@pytest.mark.parametrize("client_msg_id", ["", "a b", "a.b", "ü", "x" * 65, "c1\n"])
def test_an_id_that_cannot_be_part_of_a_name_is_refused(client_msg_id: str) -> None:
    with pytest.raises(BadInput):
        chat().inbound(chat().visit(PEER), client_msg_id, "hi")


def test_length_is_counted_in_codepoints() -> None:
    room = chat()
    assert room.inbound(room.visit(PEER), "c1", "🙂" * TEXT_CODEPOINTS_MAX)
    with pytest.raises(TooLarge):
        room.inbound(room.visit(PEER), "c1", "🙂" * (TEXT_CODEPOINTS_MAX + 1))


def test_the_page_may_choose_among_the_agents_that_routing_knows() -> None:
    room = chat(Routing(("demo", "sales"), "demo"))
    assert room.visit(PEER).agent == "demo"
    assert room.visit(PEER, "sales").key.text == f"agent:sales/webchat:default/dm:{PEER}"
    with pytest.raises(NotAllowed):
        room.visit(PEER, "nobody")


def test_a_binding_that_claims_the_channel_is_not_overruled() -> None:
    room = chat(Routing(("demo", "ops"), "ops", (Binding("demo", channel="webchat"),)))
    assert room.visit(PEER).agent == room.visit(PEER, "demo").agent == "demo"
    with pytest.raises(NotAllowed):
        room.visit(PEER, "ops")


def test_a_binding_of_the_whole_tenant_leaves_the_choice() -> None:
    room = chat(Routing(("demo", "ops"), "ops", (Binding("demo", tenant="default"),)))
    assert room.visit(PEER).agent == "demo"
    assert room.visit(PEER, "ops").agent == "ops"


def test_scopes_decide_what_visitors_share() -> None:
    room = chat(Routing(("demo",), scopes=Scopes(dm=DmScope.MAIN)))
    assert room.visit(PEER).key.text == "agent:demo/shared:main"


def test_several_agents_and_no_owner_is_an_error_and_no_guess() -> None:
    with pytest.raises(NoRoute) as refused:
        chat(Routing(("demo", "ops"))).visit(PEER)
    assert refused.value.hint


def sending(started: Callable[[str], Awaitable[None]]) -> Sending:
    session = f"agent:demo/webchat:default/dm:{PEER}"
    return Sending("k1", session, "default", 1, {"adapter": "webchat"}, {"text": "hi"}, 0.0, started)


async def test_sending_any_number_of_times_is_delivered_under_the_key_and_only_tells() -> None:
    async def started(external_id: str) -> None:
        raise AssertionError

    room = chat()
    reader = room.hub.subscribe(SessionRef("default", f"agent:demo/webchat:default/dm:{PEER}"))
    assert await room.send(sending(started)) == await room.send(sending(started)) == Delivered("k1")
    assert reader.news.is_set()


def test_a_repeated_send_is_recognised_for_ever() -> None:
    limits = chat().limits_for({})
    assert (limits.idempotency, limits.window_s, limits.length_max, limits.unit) == (
        Idempotency.NATIVE,
        0.0,
        100_000,
        "codepoint",
    )


@pytest.mark.parametrize(
    ("origin", "host", "same"),
    [
        ("http://localhost:8420", "localhost:8420", True),
        ("https://chat.example", "chat.example", True),
        ("https://chat.example", "chat.example:443", True),
        ("HTTP://Chat.Example:80", "chat.example", True),
        ("https://chat.example:8443", "chat.example", False),
        ("https://chat.example.evil.example", "chat.example", False),
        ("https://evil.example", "chat.example", False),
        ("https://chat.example@evil.example", "chat.example", False),
        ("file://chat.example", "chat.example", False),
        ("null", "chat.example", False),
        ("", "chat.example", False),
        ("http://[", "chat.example", False),
        ("http://[::1", "[::1", False),
        ("http://\u2100", "chat.example", False),
    ],
)
def test_only_a_page_of_this_host_is_of_the_same_origin(origin: str, host: str, same: bool) -> None:
    assert same_origin(origin, host) is same


LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:8420", True),
        ("LOCALHOST:8420", True),
        ("[::1]:8420", True),
        ("evil.example", False),
        ("evil.example:8420", False),
        ("127.0.0.1.evil.example", False),
        ("localhost@evil.example", False),
        ("[::1", False),
        ("", False),
    ],
)
def test_a_name_that_only_resolves_to_this_machine_is_not_one_of_its_names(host: str, known: bool) -> None:
    assert known_host(host, LOCAL) is known
    assert known_host(host, frozenset()) is (host != "[::1")
