"""Effects over HTTP: what goes out, and an operator's word about what is unclear."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from router.http.caller import LIMIT_MAX, Caller, body_of, caller, number, path_part
from router.http.problems import json_response
from router.http.schema import EffectView, Mark
from sessionstore.effect import EffectState
from sessionstore.errors import BadInput, NotFound

EFFECTS = 100


async def get_effects(request: web.Request) -> web.Response:
    """GET /v1/effects?state=&session=&limit="""
    who = caller(request, "read")
    limit = number(request, "limit", EFFECTS, least=1, most=LIMIT_MAX)
    named = request.query.get("session", "")
    session = who.session(named).session if named else None
    # One who may see few sessions is given what there is of theirs among the newest.
    width = limit if who.principal.namespace.everything or session else LIMIT_MAX
    rows = await who.services.store.reads.effects(who.tenant, session=session, states=_states(request), limit=width)
    shown = [effect_view(row) for row in rows if who.may_see(row["session"])]
    return json_response({"effects": shown[:limit]})


async def post_resend(request: web.Request) -> web.Response:
    """POST /v1/effects/{id}/resend: send it again under the same key."""
    who = caller(request, "write")
    row = await _effect(who, path_part(request))
    await who.services.store.operations.resend(row["effect_id"], who.principal.name)
    return json_response(effect_view(await _effect(who, row["effect_id"])))


async def post_mark(request: web.Request) -> web.Response:
    """POST /v1/effects/{id}/mark: say how an unknown effect ended."""
    who = caller(request, "write")
    mark = await body_of(request, Mark)
    row = await _effect(who, path_part(request))
    await who.services.store.operations.mark(row["effect_id"], mark.state, who.principal.name, mark.note)
    return json_response(effect_view(await _effect(who, row["effect_id"])))


def effect_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """An outbox row as the API shows it; address and content stay inside, since they may hold what is private."""
    return {name: row["session" if name == "session_key" else name] for name in EffectView.model_fields}


def _states(request: web.Request) -> tuple[str, ...]:
    states = tuple(word for word in request.query.get("state", "").split(",") if word)
    known = [state.value for state in EffectState]
    unknown = [word for word in states if word not in known]
    if unknown:
        raise BadInput(f"there is no state {unknown[0]!r}", hint=f"use {', '.join(known)}, or several with commas")
    return states


async def _effect(who: Caller, effect_id: str) -> dict[str, Any]:
    row = await who.services.store.reads.effect(effect_id)
    if row is None or row["tenant"] != who.tenant or not who.may_see(row["session"]):
        raise NotFound(f"there is no effect {effect_id!r} that you may see", hint="GET /v1/effects lists them")
    return row
