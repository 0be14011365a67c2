"""`POST /v1/hooks/{source}`: signed deliveries from outside systems.

The order is the guarantee: read within limits, verify, decode, publish, and only when the event is durable say 2xx. A
repeat gets the same answer with `duplicate` true. The same id with another body is answered 2xx too, since asking again
would not help the sender: the body is kept as a dead letter first, and the answer says `conflict`.
"""

import asyncio
from typing import assert_never

from aiohttp import web

from router.hooks import Delivery, Hook, Refusal, decode, event_of
from router.http.body import read_body
from router.http.problems import json_response
from router.http.refusal import refuse
from router.http.services import SERVICES, Services
from router.rules import NoOwner, fallback_agent
from sessionstore.errors import TurnlineError
from sessionstore.event import Event
from sessionstore.inbox import Accepted, Archived, BodyConflict, Dropped, Duplicate, NewRow

ACTION = "hook.refused"
# Above this, checking and parsing would hold the event loop up for longer than a turn of it should take.
DECODE_INLINE_BYTES_MAX = 262_144


async def post_hook(request: web.Request) -> web.Response:
    """Take a delivery. 202 `{event_id, session_key, duplicate}` means that it is durable; else a problem document.

    404 unknown source, 401 unsigned or badly signed, 413 and 408 over the hook's limits, 400 what cannot be read, 503
    with Retry-After when the store or this door is too busy, or no agent owns the deliveries: then nothing was kept.
    """
    services, source = request.app[SERVICES], request.match_info["source"]
    hook = services.hooks.get(source)
    if hook is None:
        taken: web.Response | Refusal = _unknown(source)
    else:
        taken = await _take(services, hook, request)
    if isinstance(taken, Refusal):
        target = f"hooks/{source}"
        return refuse(request, services.trail, taken, tenant=services.tenant, action=ACTION, target=target)
    return taken


def _unknown(source: str) -> Refusal:
    return Refusal(404, "unknown_source", f"there is no hook {source[:64]!r} here", "add it to [hooks] in the settings")


async def _take(services: Services, hook: Hook, request: web.Request) -> web.Response | Refusal:
    with hook.intake.holding() as hold:
        try:
            body = await read_body(request, bytes_max=hook.body_bytes_max, timeout_s=hook.body_timeout_s, hold=hold.add)
        except TurnlineError as error:
            return Refusal.of(error)
        found = await _decoded(services, hook, request, body)
        if isinstance(found, Refusal):
            return found
        return await _published(services, found[0], found[1], body)


async def _decoded(
    services: Services, hook: Hook, request: web.Request, body: bytes
) -> tuple[Event, Delivery] | Refusal:
    arguments = (hook, request.headers, request.query, body, services.clock.now())
    if len(body) > DECODE_INLINE_BYTES_MAX:
        delivery = await asyncio.to_thread(decode, *arguments)
    else:
        delivery = decode(*arguments)
    if isinstance(delivery, Refusal):
        return delivery
    agent = hook.agent or fallback_agent(services.routing)
    if isinstance(agent, NoOwner):
        # Retryable: the sender keeps the delivery until the settings name an agent.
        return Refusal(503, agent.code, agent.message, agent.hint, retryable=True)
    event = event_of(hook, delivery, services.tenant, agent)
    return event if isinstance(event, Refusal) else (event, delivery)


async def _published(services: Services, event: Event, delivery: Delivery, body: bytes) -> web.Response:
    [result] = await services.bus.publish([NewRow(event, body_hash=delivery.body_hash)])
    match result:
        case Accepted():
            return _answer(event.id, event.session, duplicate=False)
        case Duplicate(session=session):
            return _answer(event.id, session, duplicate=True)
        case BodyConflict(session=session):
            reason = f"delivery {event.id!r} came again with another body; the first one was taken"
            await services.store.operations.add_dead(event.tenant, event.source, event.id, reason, body)
            return _answer(event.id, session, duplicate=True, conflict=True)
        case Archived(session=session):
            return _answer(event.id, session, duplicate=False, dropped="the session is archived")
        case Dropped(reason=reason):
            return _answer(event.id, event.session, duplicate=False, dropped=reason)
        case _:
            assert_never(result)


def _answer(event_id: str, session_key: str, *, duplicate: bool, **more: bool | str) -> web.Response:
    return json_response({"event_id": event_id, "session_key": session_key, "duplicate": duplicate, **more}, 202)
