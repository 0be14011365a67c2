"""Health: whether the process is alive, and whether it does its work. Aliveness alone proves nothing about work."""

from aiohttp import web

from router.http.problems import json_response, problem
from router.http.services import SERVICES


async def get_healthz(request: web.Request) -> web.Response:
    """GET /healthz: the process answers."""
    return json_response({"status": "alive"})


async def get_readyz(request: web.Request) -> web.Response:
    """GET /readyz: the loops make progress; 503 with the reason when not."""
    reason = request.app[SERVICES].ready()
    if reason:
        return problem(503, "not_ready", reason, hint="wait; if it lasts, the log tells why", retryable=True)
    return json_response({"status": "ready"})
