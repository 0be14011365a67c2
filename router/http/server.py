"""The HTTP application: what it is made of, and starting and stopping it."""

import asyncio
from pathlib import Path

from aiohttp import web

from router.http.problems import problems
from router.http.routes import add_routes
from router.http.services import SERVICES, Services
from sessionstore.errors import BadSettings

SHUTDOWN_S = 2.0
STATIC = Path(__file__).resolve().parent.parent / "static"


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
