"""A refused request: a problem document for its sender, and a line in the audit trail for us."""

from typing import Any

from aiohttp import web

from router.hooks import Refusal
from router.http.problems import problem
from router.trail import Trail


def refuse(
    request: web.Request,
    trail: Trail,
    refusal: Refusal,
    *,
    tenant: str,
    action: str,
    target: str,
    actor: str = "",
    **more: Any,
) -> web.Response:
    """The response. The line's action is `action.CODE`, so that a flood of one kind hides no other kind.

    `actor` is the caller where it is known; else the address that the request came from. `more` are members of the
    problem document.
    """
    trail.note(
        tenant, actor or address(request), f"{action}.{refusal.code}", target, f"{refusal.status}: {refusal.detail}"
    )
    response = problem(
        refusal.status, refusal.code, refusal.detail, hint=refusal.hint, retryable=refusal.retryable, **more
    )
    if not request.content.is_eof():
        # What was not read would be taken for the next request.
        response.force_close()
    return response


def address(request: web.Request) -> str:
    """Where a request came from, as the connection says; headers of proxies can be made up."""
    return f"ip:{request.remote or 'unknown'}"
