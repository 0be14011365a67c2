"""Dead letters over HTTP: what was given up, with the reason, and the way back."""

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from router.http.caller import LIMIT_MAX, Caller, caller, number, path_part
from router.http.problems import json_response
from sessionstore.errors import NotFound

LETTERS = 200
PREVIEW_BYTES_MAX = 300


async def get_dead(request: web.Request) -> web.Response:
    """GET /v1/dead?limit="""
    who = caller(request, "read")
    limit = number(request, "limit", LETTERS, least=1, most=LIMIT_MAX)
    width = limit if who.principal.namespace.everything else LIMIT_MAX
    rows = await who.services.store.reads.dead(who.tenant, limit=width)
    shown = [dead_view(row) for row in rows if who.may_see(row["session"])]
    return json_response({"dead": shown[:limit]})


async def post_redrive(request: web.Request) -> web.Response:
    """POST /v1/dead/{id}/redrive: queue the event again, once its cause is fixed."""
    who = caller(request, "write")
    row = await _letter(who, path_part(request))
    await who.services.store.operations.redrive(row["dead_id"], who.principal.name)
    return json_response(dead_view(await _letter(who, row["dead_id"])))


async def post_drop(request: web.Request) -> web.Response:
    """POST /v1/dead/{id}/drop: give it up for good; it stays in the counts."""
    who = caller(request, "write")
    row = await _letter(who, path_part(request))
    await who.services.store.operations.drop(row["dead_id"], who.principal.name)
    return json_response(dead_view(await _letter(who, row["dead_id"])))


def dead_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """A dead letter as the API shows it."""
    raw: bytes = row["raw"]
    return {
        "id": row["dead_id"],
        "session_key": row["session"],
        "source": row["source"],
        "event_id": row["event_id"],
        "reason": row["reason"],
        "preview": raw[:PREVIEW_BYTES_MAX].decode("utf-8", "replace"),
        "bytes": len(raw),
        "at": row["at"],
        "state": row["state"],
    }


async def _letter(who: Caller, dead_id: str) -> dict[str, Any]:
    row = await who.services.store.reads.dead_letter(dead_id)
    if row is None or row["tenant"] != who.tenant or not who.may_see(row["session"]):
        raise NotFound(f"there is no dead letter {dead_id!r} that you may see", hint="GET /v1/dead lists them")
    return row
