"""Errors over HTTP: RFC 9457 problem details, each with a stable code, what to do next and whether a retry helps."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import structlog
from aiohttp import web

from sessionstore.errors import TurnlineError

log = structlog.get_logger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

TITLES = {
    400: "The request cannot be used",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "This method is not offered here",
    408: "Too slow",
    409: "Conflict",
    413: "Too large",
    415: "This media type is not understood",
    422: "Cannot be done as asked",
    429: "Too many requests",
    500: "Something broke here",
    503: "Not able to now",
}
RETRY_AFTER_S = 5


def problem(
    status: int, code: str, detail: str, *, hint: str = "", retryable: bool = False, **more: Any
) -> web.Response:
    """A problem response; `more` are further members of the document."""
    body = {
        "type": f"https://turnline.invalid/problems/{code}",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
        "code": code,
        "hint": hint,
        "retryable": retryable,
        **more,
    }
    headers = {"Retry-After": str(RETRY_AFTER_S)} if retryable else {}
    return web.Response(
        body=orjson.dumps(body), status=status, content_type="application/problem+json", headers=headers
    )


def problem_of(error: TurnlineError) -> web.Response:
    """The response for one of our errors."""
    return problem(error.status, error.code, str(error), hint=error.hint, retryable=error.retryable)


def json_response(body: Any, status: int = 200) -> web.Response:
    """A JSON response, by orjson."""
    return web.Response(body=orjson.dumps(body), status=status, content_type="application/json")


def _problem_of_http(request: web.Request, error: web.HTTPException) -> web.Response:
    """What aiohttp itself refuses: mostly a path that is not there, a method that is not offered, a large body."""
    match error:
        case web.HTTPNotFound():
            return problem(404, "not_found", f"there is nothing at {request.path}", hint=_where(request.path))
        case web.HTTPMethodNotAllowed():
            methods = ", ".join(sorted(error.allowed_methods))
            response = problem(
                405, "method_not_allowed", f"{request.path} does not take {request.method}", hint=f"it takes {methods}"
            )
            response.headers["Allow"] = methods
            return response
        case web.HTTPRequestEntityTooLarge():
            return problem(413, "too_large", error.text or "the body is too large", hint="send less at once")
        case _:
            code = (error.reason or "error").lower().replace(" ", "_")
            return problem(error.status, code, error.text or code, hint="/openapi.json tells what is offered")


def _where(path: str) -> str:
    if path.startswith("/v1/sessions/"):
        return "a session key is one segment of the path: percent-encode it, slashes too"
    return "/openapi.json tells what is offered"


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Every error leaves as a problem document; what is not ours is logged and told without its inside."""
    try:
        return await handler(request)
    except TurnlineError as error:
        if error.status >= 500:
            log.warning("http.failed", path=request.path, code=error.code, error=str(error))
        return problem_of(error)
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return _problem_of_http(request, error)
    except ConnectionResetError:
        raise
    except Exception:
        log.exception("http.broke", path=request.path, method=request.method)
        return problem(500, "internal", "an error of ours; it is in the log", hint="try again later", retryable=True)
