"""The HTTP application: what it is made of, and starting and stopping it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from consumers.bus import Bus
from router.hooks import Hook
from router.http.auth import Tokens
from router.http.problems import problems
from router.http.routes import add_routes
from router.rules import Routing
from router.trail import Trail
from router.webchat import WebChat
from sessionstore.clock import Clock
from sessionstore.errors import BadSettings
from sessionstore.store import Store

BODY_BYTES_MAX = 1_048_576
SHUTDOWN_S = 2.0
STATIC = Path(__file__).resolve().parent.parent / "static"


@dataclass(frozen=True, slots=True)
class Services:
    """What request handlers work with. `ready` tells whether the loops make progress, with a reason when not."""

    store: Store
    bus: Bus
    routing: Routing
    tokens: Tokens
    trail: Trail
    clock: Clock
    webchat: WebChat
    hooks: Mapping[str, Hook]
    endpoints: frozenset[str]
    ready: Callable[[], str]
    cookie_secret: bytes = field(repr=False)
    tenant: str = "default"
    body_bytes_max: int = BODY_BYTES_MAX


SERVICES: web.AppKey[Services] = web.AppKey("services", Services)


def make_application(services: Services) -> web.Application:
    """The application, not yet listening."""
    application = web.Application(middlewares=[problems], client_max_size=services.body_bytes_max)
    application[SERVICES] = services
    add_routes(application, STATIC)
    return application


class Server:
    """Listens on one address; `start` raises BadSettings when the port is taken."""

    def __init__(self, application: web.Application, host: str, port: int) -> None:
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_S)
        self._host = host
        self._port = port

    async def start(self) -> int:
        """Listen; returns the port, which matters when 0 was asked for."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise BadSettings(
                f"port {self._port} on {self._host} is not free: {error.strerror}",
                hint="stop what listens there, or set TURNLINE_PORT to another port (0 picks a free one)",
            ) from error
        address = self._runner.addresses[0]
        return int(address[1])

    async def stop(self) -> None:
        """Stop listening, end open sockets."""
        async with asyncio.timeout(SHUTDOWN_S * 5):
            await self._runner.cleanup()
