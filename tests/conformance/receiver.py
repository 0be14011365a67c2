"""A real HTTP server on loopback that does work by key, can be asked about it, and misbehaves as told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import StrEnum

from aiohttp import web


class Fault(StrEnum):
    """What happens to the next request, after it was read."""

    NONE = "none"
    DROP = "drop"  # done, and the connection ends without an answer
    RESET = "reset"  # done, and the connection is torn down
    HANG = "hang"  # done, and no answer comes
    TOO_MANY = "too_many"  # 429 with Retry-After, not done
    BROKEN = "broken"  # 500, done
    BAD_REQUEST = "bad_request"  # 400, not done
    CONFLICT = "conflict"  # 409: the first request with this key is still under way


RETRY_AFTER_S = 7


class Receiver:
    """`arrivals` are the keys of all requests, `done` those of the work that was done, each once."""

    def __init__(self) -> None:
        self.url = ""
        self.fault = Fault.NONE
        self.arrivals: list[str] = []
        self.done: list[str] = []
        self.job = ""  # what a look-up tells instead of the truth; "" for the truth
        self.asked = 0

    async def work(self, request: web.Request) -> web.StreamResponse:
        await request.read()
        key = request.headers.get("Idempotency-Key", "")
        self.arrivals.append(key)
        fault, self.fault = self.fault, Fault.NONE
        match fault:
            case Fault.TOO_MANY:
                return web.Response(status=429, headers={"Retry-After": str(RETRY_AFTER_S)})
            case Fault.BAD_REQUEST:
                return web.Response(status=400)
            case Fault.CONFLICT:
                return web.Response(status=409)
        if key not in self.done:
            self.done.append(key)
        return await self._answer(request, fault)

    async def _answer(self, request: web.Request, fault: Fault) -> web.StreamResponse:
        transport = request.transport
        assert transport is not None
        match fault:
            case Fault.BROKEN:
                return web.Response(status=500)
            case Fault.DROP:
                transport.close()
            case Fault.RESET:
                transport.abort()
            case Fault.HANG:
                while not transport.is_closing():
                    await asyncio.sleep(0.01)
        return web.json_response({"id": "job-1", "status": "succeeded"})

    async def look(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        if self.job == "500":
            return web.Response(status=500)
        status = self.job or ("succeeded" if request.match_info["key"] in self.done else "")
        return web.json_response({"id": "job-1", "status": status}) if status else web.Response(status=404)


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """A receiver that serves until it is left."""
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/work", receiver.work)
    app.router.add_get("/jobs/{key}", receiver.look)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"http://{host}:{port}"
    yield receiver
    await runner.cleanup()
