"""The web chat, both halves: from a peer's message to an event, and from an effect to the peer's page.

The session's own transcript and outbox are the chat's mailbox: a page reads them, and what it has not read it finds
there later. So there is nothing to deliver twice, sending is only telling the hub, and no queue can overflow. A peer is
a random id in a signed cookie: whoever holds the cookie is the peer, and nobody can make one up.
"""

import asyncio
import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

from consumers.bus import Bus
from outbox.adapter import CannotTell, Delivered, Idempotency, Limits, LookupResult, Sending, SendResult
from router.bindings import Tier
from router.chatitem import CHANNEL, Item, items, needed, on_this_channel
from router.hub import Hub
from router.inbound import DEFAULT_ACCOUNT, Inbound, Peer, PeerKind
from router.rules import Route, RouteRefused, Routing, route
from sessionstore.clock import Clock
from sessionstore.errors import BadInput, BadKey, IdConflict, NoRoute, NotAllowed, NotFound, Refused, TooLarge
from sessionstore.event import Event
from sessionstore.inbox import Accepted, Archived, BodyConflict, Dropped, Duplicate, NewRow, SessionRef
from sessionstore.key import DEFAULT_TENANT, SessionKey
from sessionstore.notice import Notice
from sessionstore.store import Store
from sessionstore.wait import AnswerResult, NewAnswer, NoSuchWait

COOKIE = "turnline_chat"
COOKIE_AGE_S = 365 * 24 * 3600
PEER_BYTES = 16
TEXT_CODEPOINTS_MAX = 16_000
REPLY_CODEPOINTS_MAX = 100_000

_PEER = re.compile(r"[0-9a-f]{32}")
_CLIENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LIMITS = Limits(idempotency=Idempotency.NATIVE, length_max=REPLY_CODEPOINTS_MAX, unit="codepoint")
_WORDS = {"approve": "approved", "reject": "rejected"}


@dataclass(frozen=True, slots=True)
class Visit:
    """A peer at its session."""

    peer: str
    key: SessionKey
    agent: str

    @property
    def ref(self) -> SessionRef:
        """The session."""
        return SessionRef(self.key.tenant, self.key.text)

    @property
    def actor(self) -> str:
        """The name that the peer's answers are kept under."""
        return f"{CHANNEL}:{self.peer}"


@dataclass(frozen=True, slots=True)
class Posted:
    """The message is durable; `duplicate` when it was before."""

    event_id: str
    duplicate: bool


class WebChat:
    """The channel. `notice` must be a listener of the store; the HTTP application runs `run` while it serves."""

    name = CHANNEL

    def __init__(
        self,
        store: Store,
        bus: Bus,
        routing: Routing,
        clock: Clock,
        secret: bytes,
        tenant: str = DEFAULT_TENANT,
        account: str = DEFAULT_ACCOUNT,
        *,
        random_hex: Callable[[int], str] = secrets.token_hex,
    ) -> None:
        self.hub = Hub(store.reads, clock)
        self.clock = clock
        self._store = store
        self._bus = bus
        self._routing = routing
        self._secret = secret
        self._tenant = tenant
        self._account = account
        self._random_hex = random_hex

    def notice(self, notice: Notice) -> None:
        """What a transaction of this process changed; a listener for `Store.listen`."""
        self.hub.notice(notice)

    async def run(self) -> None:
        """Look for commits of other processes until cancelled."""
        await self.hub.run()

    # Outbound: see `EffectAdapter`.

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        """The same for every peer; a repeated send is the same row of the same mailbox."""
        return _LIMITS

    async def send(self, sending: Sending) -> SendResult:
        """The row is the message: all that is left to do is to tell whoever looks at it."""
        self.hub.wake(SessionRef(sending.tenant, sending.session))
        return Delivered(sending.key)

    async def lookup(self, sending: Sending) -> LookupResult:
        """Never needed: sending again does nothing."""
        return CannotTell("the web chat's messages are recognised by their key")

    async def close(self) -> None:
        """End open pages and streams; they connect again elsewhere, or later."""
        self.hub.close()

    # Who is there.

    def new_cookie(self) -> str:
        """A peer nobody else is, signed."""
        peer = self._random_hex(PEER_BYTES)
        return f"{peer}.{self._signature(peer)}"

    def peer_of(self, cookie: str) -> str | None:
        """The peer of a cookie that this server signed; None for any other. Compares in constant time."""
        peer, _, signature = cookie.partition(".")
        genuine = hmac.compare_digest(self._signature(peer).encode(), signature.encode("utf-8", "surrogatepass"))
        return peer if genuine and _PEER.fullmatch(peer) else None

    def _signature(self, peer: str) -> str:
        signed = "\n".join(("turnline web chat peer", self._tenant, self._account, peer))
        digest = hmac.digest(self._secret, signed.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    # Inbound.

    def visit(self, peer: str, agent: str = "") -> Visit:
        """The session that a peer's messages go to; `agent` is the one that the page asked for.

        Raises NotAllowed for an agent that is not there or may not be chosen, NoRoute when no agent can be named.
        """
        place = Inbound(CHANNEL, Peer(PeerKind.DM, peer), account=self._account, sender=peer, tenant=self._tenant)
        decided = route(place, self._chosen(place, agent) if agent else self._routing)
        match decided:
            case Route(key=key, agent=owner):
                return Visit(peer, key, owner)
            case RouteRefused(code="bad_key", message=message, hint=hint):
                raise BadKey(message, hint=hint)
            case RouteRefused(message=message, hint=hint):
                raise NoRoute(message, hint=hint)
            case _:
                assert_never(decided)

    def _chosen(self, place: Inbound, agent: str) -> Routing:
        """The routing with only the chosen agent's rules left. A binding that claims this channel is not overruled."""
        decided = route(place, self._routing)
        owner = decided.agent if isinstance(decided, Route) and decided.tier <= Tier.CHANNEL else agent
        if agent not in self._routing.agents or owner != agent:
            raise NotAllowed(f"the web chat has no agent {agent!r}", hint="open /chat without `agent`")
        rules = tuple(binding for binding in self._routing.bindings if binding.agent == agent)
        return replace(self._routing, default_agent=agent, bindings=rules)

    def inbound(self, visit: Visit, client_msg_id: str, text: str) -> NewRow:
        """A peer's message as an inbox row. Raises BadInput and TooLarge for what cannot be one."""
        if not _CLIENT_ID.fullmatch(client_msg_id):
            raise BadInput("the message has no usable client_msg_id", hint="1 to 64 of A-Z a-z 0-9 - _, such as a UUID")
        if not text.strip():
            raise BadInput("the message is empty", hint="write something")
        if len(text) > TEXT_CODEPOINTS_MAX:
            raise TooLarge(
                f"the message has {len(text)} characters; {TEXT_CODEPOINTS_MAX} fit", hint="send it in parts"
            )
        event = Event(
            tenant=self._tenant,
            source=f"{CHANNEL}:{self._account}",
            id=f"{visit.peer}.{client_msg_id}",
            type="message",
            session=visit.key.text,
            agent=visit.agent,
            data={"text": text, "client_msg_id": client_msg_id},
            time=self.clock.now(),
            sender=visit.peer,
            reply_route=self._reply_route(visit),
        )
        return NewRow(event, body_hash=hashlib.sha256(text.encode()).digest())

    def _reply_route(self, visit: Visit) -> Mapping[str, Any]:
        return {
            "adapter": CHANNEL,
            "lane": CHANNEL,
            "account": self._account,
            "peer": visit.peer,
            "session": visit.key.text,
        }

    async def post(self, visit: Visit, client_msg_id: str, text: str) -> Posted:
        """Durable on return, once for each client_msg_id. Raises IdConflict for another text under the same id."""
        row = self.inbound(visit, client_msg_id, text)
        [result] = await self._bus.publish([row])
        match result:
            case Accepted():
                return Posted(row.event.id, duplicate=False)
            case Duplicate():
                return Posted(row.event.id, duplicate=True)
            case BodyConflict():
                raise IdConflict("another message was sent under this id", hint="send it under a new client_msg_id")
            case Archived():
                raise Refused("this conversation is archived", hint="nothing can be added to it")
            case Dropped(reason=reason):
                raise Refused(f"this message was not taken: {reason}", hint="it is kept with its reason")
            case _:
                assert_never(result)

    async def answer(self, visit: Visit, wait_id: str, decision: str) -> AnswerResult:
        """Answer a question that was asked in this very chat; durable when it returns Answered.

        A session may ask elsewhere too, and the ids of its questions can be guessed: those are nobody's here.
        """
        wait = await self._store.waits.get(wait_id)
        if wait is None or not self._asked_here(wait, visit):
            return NoSuchWait(wait_id)
        [result] = await self._store.waits.answer([NewAnswer(wait_id, _WORDS[decision], visit.actor)])
        return result

    @staticmethod
    def _asked_here(wait: Mapping[str, Any], visit: Visit) -> bool:
        same_session = (wait["tenant"], wait["session"]) == (visit.ref.tenant, visit.ref.session)
        return same_session and wait["kind"] == "approval" and on_this_channel(wait["route"])

    # What a page reads.

    async def items(self, visit: Visit, events: Sequence[Mapping[str, Any]]) -> list[Item]:
        """Transcript events as the visitor sees them, with how effects and questions stand now."""
        wanted = needed(events)
        states = await self._store.reads.effect_states(wanted.effects)
        found = await asyncio.gather(*(self._store.waits.get(wait_id) for wait_id in wanted.waits))
        waits = {wait["wait_id"]: wait for wait in found if wait is not None}
        return items(events, states, waits, visit.actor)


def no_such_question() -> NotFound:
    """What a visitor is told about a question that is not of this chat."""
    return NotFound("this chat has no such question", hint="load the page again to see what is open")
