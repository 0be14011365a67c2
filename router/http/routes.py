"""Every route of the server in one table: registered from it, described from it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web

from router.http.approvals import get_approval, get_approvals, post_approval
from router.http.assets import ASSETS, Assets, add_headers, get_console, get_static
from router.http.chat import CHAT_LIMITS, chat_socket, get_chat
from router.http.chatsocket import ChatLimits
from router.http.cron import get_cron
from router.http.dead import get_dead, post_drop, post_redrive
from router.http.effects import get_effects, post_mark, post_resend
from router.http.eventrequest import EventRequest
from router.http.events import post_event
from router.http.health import get_healthz, get_readyz
from router.http.hooks import post_hook
from router.http.metrics import BALANCES, Balances, get_metrics
from router.http.openapi import DOCUMENT, Operation, Query, document, get_openapi
from router.http.schema import (
    Answer,
    ApprovalList,
    ApprovalView,
    CheckpointPage,
    DeadList,
    DeadView,
    EffectList,
    EffectView,
    EventTaken,
    JobList,
    Mark,
    RecordView,
    SessionList,
    SessionView,
    TranscriptPage,
)
from router.http.services import SERVICES
from router.http.sessionactions import ACTIONS
from router.http.sessions import (
    get_checkpoints,
    get_effects_of,
    get_record,
    get_session,
    get_sessions,
    get_transcript,
)
from router.http.stream import get_stream

JSON = "application/json"
SESSION = "/v1/sessions/{key}"
LIMIT = Query("limit", int, "At most so many.")
AFTER = Query("after", int, "What comes after this number.")

OPERATIONS = (
    Operation(
        "POST",
        "/v1/events",
        post_event,
        "Send an event; it is durable when this answers.",
        EventTaken,
        scope="write",
        body=EventRequest,
        query=(Query("Idempotency-Key", str, "The event's id, where the body has none.", where="header"),),
        status=202,
        problems=(400, 408, 409, 413, 415, 422, 503),
    ),
    Operation(
        "POST",
        "/v1/hooks/{source}",
        post_hook,
        "The door of a webhook source; the signature over the raw body is the key to it.",
        JSON,
        body=JSON,
        status=202,
        problems=(400, 401, 404, 408, 413, 415, 503),
    ),
    Operation(
        "GET",
        "/v1/sessions",
        get_sessions,
        "Sessions, newest change first.",
        SessionList,
        scope="read",
        query=(Query("q", str, "A part of the key."), LIMIT, Query("after", str, "The `next` of the page before.")),
        problems=(400,),
    ),
    Operation("GET", SESSION, get_session, "One session.", SessionView, scope="read", problems=(400, 404)),
    Operation(
        "GET",
        f"{SESSION}/transcript",
        get_transcript,
        "Its transcript.",
        TranscriptPage,
        scope="read",
        query=(AFTER, LIMIT),
        problems=(400, 404),
    ),
    Operation(
        "GET",
        f"{SESSION}/checkpoints",
        get_checkpoints,
        "Its closing commits.",
        CheckpointPage,
        scope="read",
        query=(AFTER, LIMIT),
        problems=(400, 404),
    ),
    Operation(
        "GET",
        f"{SESSION}/effects",
        get_effects_of,
        "Its effects, newest first.",
        EffectList,
        scope="read",
        query=(LIMIT,),
        problems=(400, 404),
    ),
    Operation(
        "GET", f"{SESSION}/record", get_record, "Its newest record.", RecordView, scope="read", problems=(400, 404)
    ),
    Operation(
        "GET",
        f"{SESSION}/stream",
        get_stream,
        "Its transcript as server-sent events; each is a TranscriptEvent, its id the seq.",
        "text/event-stream",
        scope="read",
        query=(AFTER, Query("Last-Event-ID", str, "The last number that was seen; wins.", where="header")),
        problems=(400, 404, 503),
    ),
    *ACTIONS,
    Operation(
        "GET",
        "/v1/approvals",
        get_approvals,
        "Questions that wait for a person.",
        ApprovalList,
        scope="read",
        query=(Query("status", str, "open, answered, expired, void, cancelled or any; open when left out."), LIMIT),
        problems=(400,),
    ),
    Operation("GET", "/v1/approvals/{id}", get_approval, "One question.", ApprovalView, scope="read", problems=(404,)),
    Operation(
        "POST",
        "/v1/approvals/{id}",
        post_approval,
        "Answer a question; the first answer wins.",
        ApprovalView,
        scope="approve",
        body=Answer,
        problems=(400, 404, 409),
    ),
    Operation(
        "GET",
        "/v1/effects",
        get_effects,
        "Effects, newest first.",
        EffectList,
        scope="read",
        query=(Query("state", str, "One state, or several with commas."), Query("session", str, "A key."), LIMIT),
        problems=(400,),
    ),
    Operation(
        "POST",
        "/v1/effects/{id}/resend",
        post_resend,
        "Send an effect again under its key.",
        EffectView,
        scope="write",
        problems=(404, 409),
    ),
    Operation(
        "POST",
        "/v1/effects/{id}/mark",
        post_mark,
        "Say how an unknown effect ended.",
        EffectView,
        scope="write",
        body=Mark,
        problems=(400, 404, 409),
    ),
    Operation("GET", "/v1/dead", get_dead, "Dead letters.", DeadList, scope="read", query=(LIMIT,), problems=(400,)),
    Operation(
        "POST",
        "/v1/dead/{id}/redrive",
        post_redrive,
        "Queue a dead event again.",
        DeadView,
        scope="write",
        problems=(404, 409),
    ),
    Operation(
        "POST", "/v1/dead/{id}/drop", post_drop, "Give it up for good.", DeadView, scope="write", problems=(404, 409)
    ),
    Operation("GET", "/v1/cron", get_cron, "Jobs by the clock.", JobList, scope="read"),
    Operation(
        "GET",
        "/v1/chat/ws",
        chat_socket,
        "The web chat's socket; needs the cookie that /chat sets.",
        JSON,
        query=(AFTER, Query("agent", str, "The agent to talk to.")),
        status=101,
        problems=(400, 401, 403),
    ),
    Operation("GET", "/healthz", get_healthz, "The process answers.", JSON),
    Operation("GET", "/readyz", get_readyz, "The process does its work.", JSON, problems=(503,)),
    Operation("GET", "/metrics", get_metrics, "Metrics in Prometheus' text format.", "text/plain"),
)


def add_routes(application: web.Application, static_dir: Path) -> None:
    """Everything that this server answers. `application` holds SERVICES already."""
    services = application[SERVICES]
    application[ASSETS] = Assets(static_dir)
    application[BALANCES] = Balances(services.store.reads, services.clock)
    application[DOCUMENT] = document(OPERATIONS)
    application[CHAT_LIMITS] = ChatLimits()
    for operation in OPERATIONS:
        application.router.add_route(operation.method, operation.path, operation.handler)
    application.router.add_get("/", get_console)
    application.router.add_get("/chat", get_chat)
    application.router.add_get("/static/{name:.+}", get_static)
    application.router.add_get("/openapi.json", get_openapi)
    application.on_response_prepare.append(add_headers)
    application.cleanup_ctx.append(_polling)
    application.on_shutdown.append(_end_streams)


async def _polling(application: web.Application) -> AsyncIterator[None]:
    """Look for commits of other processes while the server runs."""
    polling = asyncio.ensure_future(application[SERVICES].webchat.run())
    yield
    polling.cancel()
    await asyncio.gather(polling, return_exceptions=True)


async def _end_streams(application: web.Application) -> None:
    """Open sockets and streams would hold an orderly stop up."""
    await application[SERVICES].webchat.close()
