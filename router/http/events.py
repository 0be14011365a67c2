"""`POST /v1/events`: events from callers with a token.

One parse, one validation, one publish; concurrent requests share the store's transactions. The answer leaves when the
event is durable. `(tenant, source, id)` names it: the same request again gets the first answer with `duplicate` true,
another one under the same id gets 409. Under which source it is kept is told in router/callersource.py.
"""

import uuid
from dataclasses import dataclass
from typing import assert_never

from aiohttp import web

from router.callersource import caller_source
from router.hooks import Refusal, endpoint_route
from router.http.auth import Principal
from router.http.body import BODY_TIMEOUT_S, read_body
from router.http.eventrequest import EventRequest, InvalidEvent, event_id, parse_event
from router.http.problems import json_response
from router.http.refusal import refuse
from router.http.services import SERVICES, Services
from router.namespace import Allowed, chosen_key
from router.rules import NoOwner, fallback_agent
from sessionstore.errors import TurnlineError
from sessionstore.event import Event
from sessionstore.inbox import Accepted, Archived, BodyConflict, Dropped, Duplicate, NewRow, PutResult, RowStatus
from sessionstore.key import SessionKey

ACTION = "event.refused"
TARGET = "events"
SCOPE = "write"


async def post_event(request: web.Request) -> web.Response:
    """Take an event. 202 `{event_id, session_key, duplicate}` means that it is durable; else a problem document.

    400 what is wrong with the body (`errors` names the fields), 401 and 403 the token or its namespace, 409
    `id_conflict` and `archived`, 413 and 408 over a limit, 422 no agent can be named, 503 with Retry-After: nothing
    was kept.
    """
    services = request.app[SERVICES]
    try:
        principal = services.tokens.authenticate(request, SCOPE)
    except TurnlineError as error:
        refusal = Refusal.of(error)
        return refuse(request, services.trail, refusal, tenant=services.tenant, action=ACTION, target=TARGET)
    taken = await _take(services, principal, request)
    if not isinstance(taken, _Refused):
        return taken
    return refuse(
        request,
        services.trail,
        taken.refusal,
        tenant=principal.tenant,
        action=ACTION,
        target=TARGET,
        actor=principal.name,
        **({"errors": [{"field": name, "problem": problem} for name, problem in taken.fields]} if taken.fields else {}),
    )


@dataclass(frozen=True, slots=True)
class _Refused:
    refusal: Refusal
    fields: tuple[tuple[str, str], ...] = ()


async def _take(services: Services, principal: Principal, request: web.Request) -> web.Response | _Refused:
    try:
        raw = await read_body(request, bytes_max=services.body_bytes_max, timeout_s=BODY_TIMEOUT_S)
        asked = parse_event(raw)
        name = event_id(asked, request.headers.getall("Idempotency-Key", ())) or str(uuid.uuid4())
        event = _event(services, principal, asked, name)
    except InvalidEvent as error:
        return _Refused(Refusal.of(error), error.fields)
    except TurnlineError as error:
        return _Refused(Refusal.of(error))
    if isinstance(event, Refusal):
        return _Refused(event)
    [result] = await services.bus.publish([NewRow(event, body_hash=asked.digest())])
    answer = _answer(event, result)
    return _Refused(answer) if isinstance(answer, Refusal) else answer


def _event(services: Services, principal: Principal, asked: EventRequest, name: str) -> Event | Refusal:
    source = caller_source(principal.name, principal.admin, asked.source, services.hooks.keys())
    key = _key(services, principal, asked)
    if isinstance(key, Refusal):
        return key
    if asked.reply_to and asked.reply_to not in services.endpoints:
        return Refusal(
            400, "unknown_endpoint", f"reply_to: no endpoint {asked.reply_to!r} is configured", "add it to [endpoints]"
        )
    return Event(
        tenant=key.tenant,
        source=source,
        id=name,
        type=asked.type,
        session=key.text,
        agent=key.agent,
        data=asked.data,
        time=services.clock.now(),
        sender=principal.name,
        reply_route=endpoint_route(asked.reply_to or ""),
    )


def _key(services: Services, principal: Principal, asked: EventRequest) -> SessionKey | Refusal:
    agent = asked.agent or ""
    if not agent and not asked.session_key:
        owner = fallback_agent(services.routing)
        if isinstance(owner, NoOwner):
            return Refusal(422, owner.code, owner.message, f"Name an agent in the request. {owner.hint}")
        agent = owner
    judged = chosen_key(principal.namespace, session_key=asked.session_key or "", agent=agent, source=asked.source)
    if not isinstance(judged, Allowed):
        status = 403 if judged.code == "not_allowed" else 400
        return Refusal(status, judged.code, judged.reason, judged.hint)
    if judged.key.agent not in services.routing.agents:
        # It would be accepted and then never run.
        hint = f"The app has: {', '.join(sorted(services.routing.agents)) or 'none'}."
        return Refusal(400, "unknown_agent", f"The app has no agent {judged.key.agent!r}.", hint)
    return judged.key


def _answer(event: Event, result: PutResult) -> web.Response | Refusal:
    match result:
        case Accepted():
            return _taken(event.id, event.session, duplicate=False)
        case Archived(session=session) | Duplicate(session=session, status=RowStatus.DROPPED):
            return Refusal(
                409, "archived", f"the session {session} is archived and takes no more events", "use another session"
            )
        case Duplicate(session=session):
            return _taken(event.id, session, duplicate=True)
        case BodyConflict():
            return Refusal(
                409,
                "id_conflict",
                f"the id {event.id!r} of this source was used with another body",
                "give a new event an id of its own; nothing was kept of this one",
            )
        case Dropped(reason=reason):
            return Refusal(409, "dropped", reason, "nothing will run for this event")
        case _:
            assert_never(result)


def _taken(name: str, session_key: str, *, duplicate: bool) -> web.Response:
    return json_response({"event_id": name, "session_key": session_key, "duplicate": duplicate}, 202)
