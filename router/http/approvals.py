"""Approvals over HTTP: questions that wait for a person, and their first answer."""

from collections.abc import Mapping
from typing import Any, assert_never

import orjson
from aiohttp import web

from router.chatitem import answer_word
from router.http.caller import LIMIT_MAX, Caller, body_of, caller, number, path_part
from router.http.chatframe import already_answered
from router.http.problems import json_response, problem
from router.http.schema import Answer
from sessionstore.errors import BadInput, NotFound
from sessionstore.wait import Answered, NewAnswer, NoSuchWait, NotOpen, WaitStatus

APPROVALS = 200


async def get_approvals(request: web.Request) -> web.Response:
    """GET /v1/approvals?status=&limit="""
    who = caller(request, "read")
    limit = number(request, "limit", APPROVALS, least=1, most=LIMIT_MAX)
    rows = await who.services.store.reads.waits(who.tenant, status=_status(request), kind="approval", limit=LIMIT_MAX)
    shown = [approval_view(row) for row in rows if who.may_see(row["session"])]
    return json_response({"approvals": shown[:limit]})


async def get_approval(request: web.Request) -> web.Response:
    """GET /v1/approvals/{id}"""
    who = caller(request, "read")
    return json_response(approval_view(await _approval(who, path_part(request))))


async def post_approval(request: web.Request) -> web.Response:
    """POST /v1/approvals/{id}: the first answer wins and is durable; a later one is told who was first."""
    who = caller(request, "approve")
    given = await body_of(request, Answer)
    row = await _approval(who, path_part(request))
    answer = NewAnswer(row["wait_id"], given.value, who.principal.name, given.note)
    [result] = await who.services.store.waits.answer([answer])
    match result:
        case Answered(wait_id=wait_id):
            word = _word(given.value)
            await who.services.trail.write(who.tenant, who.principal.name, "approval.answer", wait_id, word)
            return json_response(approval_view(await _approval(who, wait_id)))
        case NotOpen(wait_id=wait_id):
            return _late(await _approval(who, wait_id), result)
        case NoSuchWait(wait_id=wait_id):
            raise _no_approval(wait_id)
        case _:
            assert_never(result)


def approval_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """A question as the API shows it."""
    names = ("agent", "turn_id", "question", "options", "binds", "then", "status", "answered_by", "note")
    return {
        "id": row["wait_id"],
        "session_key": row["session"],
        **{name: row[name] for name in names},
        "answer": _word(row["answer"]),
        "value": row["answer"],
        "asked_at": row["asked_at"],
        "expires_at": row["due"],
        "ended_at": row["ended_at"],
    }


def _word(answer: Any) -> str:
    word = answer_word(answer)
    if word is None:
        return ""
    return word if isinstance(word, str) else orjson.dumps(word).decode()


def _late(row: Mapping[str, Any], result: NotOpen) -> web.Response:
    """The first answer, for whoever came second: who, when and what."""
    error = already_answered(result)
    return problem(
        error.status,
        error.code,
        str(error),
        hint=error.hint,
        answered_by=result.answered_by,
        answer=result.answer,
        answered_at=row["ended_at"],
        answer_status=result.status.value,
    )


def _status(request: web.Request) -> str:
    status = request.query.get("status", WaitStatus.OPEN.value)
    known = [word.value for word in WaitStatus]
    if status == "any":
        return ""
    if status not in known:
        raise BadInput(f"there is no status {status!r}", hint=f"use {', '.join(known)} or any")
    return status


async def _approval(who: Caller, wait_id: str) -> dict[str, Any]:
    row = await who.services.store.waits.get(wait_id)
    if row is None or row["tenant"] != who.tenant or row["kind"] != "approval" or not who.may_see(row["session"]):
        raise _no_approval(wait_id)
    return row


def _no_approval(wait_id: str) -> NotFound:
    return NotFound(f"there is no approval {wait_id!r} that you may see", hint="GET /v1/approvals lists the open ones")
