"""Sessions over HTTP: the list, one session, and what belongs to it."""

import base64
import binascii
from collections.abc import AsyncIterator
from typing import Any

import orjson
from aiohttp import web

from router.http.caller import LIMIT_MAX, Caller, caller, number, path_part
from router.http.effects import effect_view
from router.http.problems import json_response
from router.http.sessionview import line, view
from sessionstore.digest import CLOSING
from sessionstore.errors import BadInput, NotFound
from sessionstore.inbox import SessionRef

LINES = 100
EVENTS = 200
CHECKPOINTS = 100
EFFECTS = 100
SCANNED_MAX = 2_000  # rows looked through for one answer to a caller who may see few of them


async def get_sessions(request: web.Request) -> web.Response:
    """GET /v1/sessions?q=&limit=&after="""
    who = caller(request, "read")
    limit = number(request, "limit", LINES, least=1, most=LIMIT_MAX)
    heads, following = await _visible(who, request.query.get("q", ""), limit, _cursor(request.query.get("after", "")))
    texts = await who.services.store.reads.last_texts(who.tenant, [head["session"] for head in heads])
    lines = [line(head, texts.get(head["session"], "")) for head in heads]
    return json_response({"sessions": lines, "next": following})


async def get_session(request: web.Request) -> web.Response:
    """GET /v1/sessions/{key}"""
    who = caller(request, "read")
    head = await _head(who, request)
    return json_response(view(head, who.services.clock.now()))


async def get_transcript(request: web.Request) -> web.Response:
    """GET /v1/sessions/{key}/transcript?after=&limit="""
    who = caller(request, "read")
    ref = await _existing(who, request)
    limit = number(request, "limit", EVENTS, least=1, most=LIMIT_MAX)
    after = number(request, "after", 0)
    events = await who.services.store.reads.transcript(ref, after=after, limit=limit)
    return json_response({"events": events, "next": events[-1]["seq"] if len(events) == limit else None})


async def get_effects_of(request: web.Request) -> web.Response:
    """GET /v1/sessions/{key}/effects?limit="""
    who = caller(request, "read")
    ref = await _existing(who, request)
    limit = number(request, "limit", EFFECTS, least=1, most=LIMIT_MAX)
    rows = await who.services.store.reads.effects(who.tenant, session=ref.session, limit=limit)
    return json_response({"effects": [effect_view(row) for row in rows]})


async def get_record(request: web.Request) -> web.Response:
    """GET /v1/sessions/{key}/record"""
    who = caller(request, "read")
    ref = await _existing(who, request)
    found = await who.services.store.reads.record(ref)
    if found is None:
        raise NotFound("this session has no record yet", hint="its first turn has not committed")
    seq, body, sha256 = found
    return json_response({"seq": seq, "sha256": sha256, "record": orjson.loads(body)})


async def get_checkpoints(request: web.Request) -> web.Response:
    """GET /v1/sessions/{key}/checkpoints?after=&limit="""
    who = caller(request, "read")
    ref = await _existing(who, request)
    limit = number(request, "limit", CHECKPOINTS, least=1, most=LIMIT_MAX)
    after = number(request, "after", 0)
    found: list[dict[str, Any]] = []
    async for event in _events(who, ref, after):
        after = event["seq"]
        if event["type"] in CLOSING:
            found.append(_checkpoint(event))
        if len(found) == limit:
            break
    else:
        return json_response({"checkpoints": found, "next": None})
    return json_response({"checkpoints": found, "next": after})


def _checkpoint(event: dict[str, Any]) -> dict[str, Any]:
    return {"seq": event["seq"], "turn_id": event["turn_id"], "at": event["at"], "sha256": event["body"]["sha256"]}


async def _events(who: Caller, ref: SessionRef, after: int) -> AsyncIterator[dict[str, Any]]:
    while True:
        page = await who.services.store.reads.transcript(ref, after=after, limit=LIMIT_MAX)
        for event in page:
            yield event
        if len(page) < LIMIT_MAX:
            return
        after = page[-1]["seq"]


async def _visible(
    who: Caller, query: str, limit: int, cursor: tuple[float | None, str]
) -> tuple[list[dict[str, Any]], str | None]:
    """Heads that the caller may see, and the cursor behind them; fewer than `limit` may be all or not all."""
    before, key = cursor
    found: list[dict[str, Any]] = []
    for _ in range(max(1, SCANNED_MAX // limit)):
        rows = await who.services.store.reads.sessions(
            who.tenant, query=query, limit=limit, before=before, before_key=key
        )
        for row in rows:
            before, key = row["updated_at"], row["session"]
            if who.may_see(key):
                found.append(row)
            if len(found) == limit:
                return found, _cursor_text(before, key)
        if len(rows) < limit:
            return found, None
    return found, _cursor_text(before, key)


def _cursor_text(before: float | None, key: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([before, key])).decode().rstrip("=")


def _cursor(text: str) -> tuple[float | None, str]:
    if not text:
        return None, ""
    try:
        before, key = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        return float(before), str(key)
    except (binascii.Error, ValueError, TypeError) as error:
        raise BadInput("`after` is not a cursor of this list", hint="give what `next` said, or leave it out") from error


async def _existing(who: Caller, request: web.Request) -> SessionRef:
    """The session in the path, which must be there; a page of it is read with its own query."""
    ref = who.session(path_part(request))
    if not await who.services.store.reads.newest_seqs([ref]):
        raise _no_session(ref)
    return ref


async def _head(who: Caller, request: web.Request) -> dict[str, Any]:
    ref = who.session(path_part(request))
    head = await who.services.store.reads.session(ref)
    if head is None:
        raise _no_session(ref)
    return head


def _no_session(ref: SessionRef) -> NotFound:
    return NotFound(f"there is no session {ref.session}", hint="GET /v1/sessions lists them; percent-encode the key")
