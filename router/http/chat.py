"""The web chat over HTTP: its page, which makes the visitor a peer, and its socket, which only a peer may open."""

from functools import partial
from urllib.parse import urlsplit

import structlog
from aiohttp import WSCloseCode, web

from router.http.assets import ASSETS, POLICY
from router.http.auth import NotAuthenticated
from router.http.caller import number
from router.http.chatframe import error_frame
from router.http.chatsocket import FRAME_BYTES_MAX, ChatLimits, ChatSocket
from router.http.services import SERVICES
from router.webchat import COOKIE, COOKIE_AGE_S
from sessionstore.errors import BadInput, NotAllowed, TurnlineError

log = structlog.get_logger(__name__)

HEARTBEAT_S = 25.0
CHAT_LIMITS: web.AppKey[ChatLimits] = web.AppKey("chat_limits", ChatLimits)

_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


async def get_chat(request: web.Request) -> web.Response:
    """GET /chat: the page. A visitor without a genuine cookie is given one."""
    _check_host(request)
    chat = request.app[SERVICES].webchat
    response = request.app[ASSETS]["chat.html"].response(request, cache="no-store")
    response.headers["Content-Security-Policy"] = POLICY
    if chat.peer_of(request.cookies.get(COOKIE, "")) is None:
        response.set_cookie(
            COOKIE,
            chat.new_cookie(),
            max_age=COOKIE_AGE_S,
            path="/",
            httponly=True,
            samesite="Lax",
            secure=_is_https(request),
        )
    return response


async def chat_socket(request: web.Request) -> web.StreamResponse:
    """GET /v1/chat/ws?after=&agent=: one connection; see ChatSocket."""
    services = request.app[SERVICES]
    peer = _peer(request)
    after = number(request, "after", 0)
    socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=FRAME_BYTES_MAX, compress=False)
    if not socket.can_prepare(request):
        raise BadInput("this address is a WebSocket", hint="open it with a WebSocket client, or use the page at /chat")
    await socket.prepare(request)
    try:
        visit = services.webchat.visit(peer, request.query.get("agent", ""))
        limits = request.app[CHAT_LIMITS]
        await ChatSocket(socket, partial(_abort, request), services.webchat, services.store, visit, limits).run(after)
    except TurnlineError as error:
        # The page is told in a frame: a browser does not show what a refused upgrade says.
        log.info("chat.refused", code=error.code, error=str(error))
        await socket.send_json(error_frame(error))
        code = WSCloseCode.TRY_AGAIN_LATER if error.retryable else WSCloseCode.POLICY_VIOLATION
        await socket.close(code=code, message=error.code.encode())
    return socket


def same_origin(origin: str, host: str) -> bool:
    """Whether a page of this very host asks. Its scheme is not compared: a proxy may speak plain HTTP to us."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    if parts.scheme not in _DEFAULT_PORTS or not parts.netloc:
        return False
    default = _DEFAULT_PORTS[parts.scheme]
    return parts.netloc.lower().removesuffix(default) == host.lower().removesuffix(default)


def known_host(host: str, hosts: frozenset[str]) -> bool:
    """Whether the chat is asked for by a name that it goes by.

    Without this, a page of a stranger whose name is made to resolve to this machine (DNS rebinding) would be of "the
    same origin", and could talk to the agents of whoever opens it.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return not hosts or name.lower() in hosts


def _check_host(request: web.Request) -> None:
    if not known_host(request.host, request.app[SERVICES].hosts):
        raise NotAllowed("the chat does not go by this name", hint="add the name to TURNLINE_HOSTS")


def _peer(request: web.Request) -> str:
    _check_host(request)
    if not same_origin(request.headers.get("Origin", ""), request.host):
        raise NotAllowed("another site may not open this chat", hint="open the page at /chat of this server")
    peer = request.app[SERVICES].webchat.peer_of(request.cookies.get(COOKIE, ""))
    if peer is None:
        raise NotAuthenticated("this needs the chat's cookie", hint="load /chat first, and let it set its cookie")
    return peer


def _is_https(request: web.Request) -> bool:
    """Also behind a proxy that ends TLS; who forges that header only hides its own cookie from plain HTTP."""
    forwarded = request.headers.get("X-Forwarded-Proto", "").split(",")[0].strip().lower()
    return request.secure or forwarded == "https"


def _abort(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()
