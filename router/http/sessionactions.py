"""Operator actions over HTTP: each is one transaction, durable when it answers."""

from dataclasses import asdict
from typing import Any

from aiohttp import web
from pydantic import BaseModel

from consumers.operator import Acted
from router.http.actionschema import ActedView, EditRequest, ForkRequest, Reason, RewindRequest, SayRequest
from router.http.caller import Caller, body_of, caller, path_part
from router.http.openapi import Handler, Operation
from router.http.problems import json_response
from sessionstore import patch
from sessionstore.errors import BadInput, Damaged
from sessionstore.inbox import SessionRef

PATH = "/v1/sessions/{key}"
PROBLEMS = (400, 404, 408, 409, 413, 415)


async def post_simple(request: web.Request) -> web.Response:
    """POST /v1/sessions/{key}/{pause|unpause|resume|cancel|kill|reset|archive|takeover|handback}"""
    who, ref = _asked(request)
    given = await body_of(request, Reason)
    act = getattr(who.services.operator, path_part(request, 3))
    return _answer(await act(ref, who.principal.name, given.reason, dry_run=given.dry_run))


async def post_say(request: web.Request) -> web.Response:
    """POST /v1/sessions/{key}/say"""
    who, ref = _asked(request)
    given = await body_of(request, SayRequest)
    return _answer(await who.services.operator.say(ref, who.principal.name, given.text, dry_run=given.dry_run))


async def post_edit(request: web.Request) -> web.Response:
    """POST /v1/sessions/{key}/edit"""
    who, ref = _asked(request)
    given = await body_of(request, EditRequest)

    def change(state: Any) -> Any:
        if given.ops is None:
            return given.state
        try:
            return patch.apply(state, given.ops)
        except Damaged as error:
            raise BadInput(
                f"the edit does not fit the state: {error}", hint="GET the session; it has the state"
            ) from error

    done = await who.services.operator.edit(
        ref, who.principal.name, change, given.reason, expected_version=given.expected_version, dry_run=given.dry_run
    )
    return _answer(done)


async def post_rewind(request: web.Request) -> web.Response:
    """POST /v1/sessions/{key}/rewind"""
    who, ref = _asked(request)
    given = await body_of(request, RewindRequest)
    operator = who.services.operator
    return _answer(await operator.rewind(ref, who.principal.name, given.to_seq, given.reason, dry_run=given.dry_run))


async def post_fork(request: web.Request) -> web.Response:
    """POST /v1/sessions/{key}/fork; the new key must lie in the caller's namespace too."""
    who, ref = _asked(request)
    given = await body_of(request, ForkRequest)
    target = who.session(given.new_key)
    done = await who.services.operator.fork(
        ref, who.principal.name, given.at_seq, target.session, given.reason, dry_run=given.dry_run
    )
    return _answer(done)


def _asked(request: web.Request) -> tuple[Caller, SessionRef]:
    who = caller(request, "write")
    return who, who.session(path_part(request))


def _answer(done: Acted) -> web.Response:
    shown = {name: value for name, value in asdict(done).items() if name != "session"}
    withdrawn = [{"effect_id": effect_id, "state": state} for effect_id, state in done.withdrawn]
    return json_response({**shown, "session_key": done.session, "withdrawn": withdrawn})


def _operation(action: str, told: str, body: type[BaseModel], handler: Handler = post_simple) -> Operation:
    path, name = f"{PATH}/{action}", f"post_{action}"
    return Operation("POST", path, handler, told, ActedView, scope="write", body=body, problems=PROBLEMS, name=name)


ACTIONS = (
    _operation("pause", "Run nothing of it from now on.", Reason),
    _operation("unpause", "Run what has come meanwhile.", Reason),
    _operation("resume", "Go on from the newest valid checkpoint.", Reason),
    _operation("cancel", "Stop what it is doing and withdraw what was not sent.", Reason),
    _operation("kill", "End it without asking the agent.", Reason),
    _operation("reset", "Begin a new epoch of the same key.", Reason),
    _operation("archive", "Take nothing more.", Reason),
    _operation("takeover", "Answer in the agent's place.", Reason),
    _operation("handback", "Let the agent answer again.", Reason),
    _operation("say", "Say something as a person, where the session's replies go.", SayRequest, post_say),
    _operation("edit", "Change the agent's own state, by compare-and-set.", EditRequest, post_edit),
    _operation("rewind", "Go back to an earlier checkpoint; nothing is deleted.", RewindRequest, post_rewind),
    _operation("fork", "Begin a new session from a checkpoint.", ForkRequest, post_fork),
)
