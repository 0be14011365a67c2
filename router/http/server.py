"""The HTTP application: what it is made of, and starting and stopping it."""

import asyncio
import errno
import logging
import socket
from pathlib import Path
from typing import Any

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_exceptions import HTTPException

from router.http.problems import problems
from router.http.routes import add_routes
from router.http.services import SERVICES, Services
from sessionstore.errors import BadSettings

log = structlog.get_logger(__name__)

SHUTDOWN_S = 2.0
# Also how long a connection may take to send its first request whole: who drips it would hold the connection for ever.
IDLE_S = 75.0
STATIC = Path(__file__).resolve().parent.parent / "static"


def make_application(services: Services) -> web.Application:
    """The application, not yet listening."""
    application = web.Application(middlewares=[problems], client_max_size=services.body_bytes_max)
    application[SERVICES] = services
    add_routes(application, STATIC)
    return application


class WireLog(logging.Logger):
    """Where aiohttp tells of what it cannot read. A stranger can make up any number of such requests, and is told why
    in the answer: here a line of debugging has to do, instead of a traceback each."""

    def exception(self, msg: object, *args: object, exc_info: Any = True, **more: Any) -> None:
        """Malformed bytes quietly, everything else as an error of ours."""
        if isinstance(exc_info, HttpProcessingError | web.RequestPayloadError | HTTPException):
            log.debug("http.malformed", error=str(exc_info))
        else:
            log.error("http.broke", told=str(msg) % args, exc_info=exc_info)


class Server:
    """Listens on one address; `start` raises BadSettings when the port is taken, or the address is not ours."""

    def __init__(self, application: web.Application, host: str, port: int) -> None:
        self._runner = web.AppRunner(
            application,
            access_log=None,
            shutdown_timeout=SHUTDOWN_S,
            keepalive_timeout=IDLE_S,
            logger=WireLog("turnline.http"),
        )
        self._host = host
        self._port = port

    async def start(self) -> int:
        """Listen; returns the port, which matters when 0 was asked for."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        try:
            await site.start()
        except (OSError, UnicodeError) as error:
            await self._runner.cleanup()
            raise self._unheard(error) from error
        address = self._runner.addresses[0]
        return int(address[1])

    async def stop(self) -> None:
        """Stop listening, end open sockets."""
        async with asyncio.timeout(SHUTDOWN_S * 5):
            await self._runner.cleanup()

    def _unheard(self, error: OSError | UnicodeError) -> BadSettings:
        # A name that does not resolve has a number of another table.
        if isinstance(error, socket.gaierror | UnicodeError) or error.errno == errno.EADDRNOTAVAIL:
            return BadSettings(
                f"{self._host} is no address of this machine: {error}",
                hint="set TURNLINE_HOST, or --host, to one that is; 0.0.0.0 listens on all",
            )
        reason = "needs a right that this user does not have" if error.errno == errno.EACCES else "is not free"
        return BadSettings(
            f"port {self._port} on {self._host} {reason}: {error.strerror}",
            hint="stop what listens there, or set TURNLINE_PORT to another port (0 picks a free one)",
        )
