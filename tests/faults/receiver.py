"""A receiver on loopback that honours idempotency keys, and remembers every arrival."""

import asyncio
from types import TracebackType

import orjson
from aiohttp import web


class Receiver:
    """Use as `async with Receiver() as receiver`."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[str, dict[str, object]]] = []
        self.first: dict[str, dict[str, object]] = {}
        self.url = ""
        self._changed = asyncio.Event()
        application = web.Application()
        application.router.add_post("/", self._post)
        self._runner = web.AppRunner(application, access_log=None)

    async def __aenter__(self) -> "Receiver":
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def until(self, count: int, timeout_s: float) -> None:
        """Wait until that many different keys have arrived."""
        async with asyncio.timeout(timeout_s):
            while len(self.first) < count:
                self._changed.clear()
                await self._changed.wait()

    async def _post(self, request: web.Request) -> web.Response:
        key, body = request.headers["webhook-id"], orjson.loads(await request.read())
        self.arrivals.append((key, body))
        # The work is done once for a key, however often it comes.
        self.first.setdefault(key, body)
        self._changed.set()
        return web.Response(text="ok")
