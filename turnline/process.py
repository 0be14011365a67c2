"""A process: all roles over one store, from settings to an orderly stop."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random

import structlog

from consumers.agent import App
from consumers.bus import StoreBus
from consumers.operator import Operator
from consumers.scheduler import SchedulerSettings
from outbox.relay import RelaySettings
from router.cron import CronLoop
from router.http.auth import Tokens
from router.http.server import Server, make_application
from router.http.services import Services
from router.rules import Routing
from router.trail import Trail
from router.webchat import WebChat
from sessionstore.clock import SystemClock
from sessionstore.errors import BadSettings
from sessionstore.sqlite.store import SqliteStore
from turnline.datafolder import COOKIE_SECRET, TOKEN, DataFolder
from turnline.doors import hooks_of, hosts_of, tokens_of
from turnline.ending import heard
from turnline.engine import Engine, EngineSettings
from turnline.settings import Settings
from turnline.wiring import open_artifacts, open_store, outgoing

log = structlog.get_logger(__name__)

STALL_S = 30.0
STOP_S = 15.0  # beyond the drains: closing doors, connections and the store


class Process:
    """Everything that one process runs. `serve` returns when it is told to stop; it raises BadSettings before it
    has changed anything but the data folder."""

    def __init__(self, settings: Settings, app: App) -> None:
        self.settings = settings
        self.app = app
        self.port = settings.port
        self.token = ""
        self._clock = SystemClock()
        self._random = Random()  # noqa: S311 - jitter, not secrets
        self._stop = asyncio.Event()
        self._engine: Engine | None = None

    async def serve(self, started: asyncio.Event) -> bool:
        """Run until stopped; `started` is set once the doors are open. False when a loop died on the way."""
        async with AsyncExitStack() as stack:
            # Entered first, so that it holds until all else has ended. Turns drain first, then sends.
            stack.enter_context(heard(self.stop, 2 * self.settings.drain_s + STOP_S))
            folder = DataFolder(self.settings.data)
            folder.hold(self.app.by_name())
            stack.callback(folder.release)
            store = open_store(self.settings)
            stack.push_async_callback(store.close)
            # We hold the folder's lock, so whoever held leases and claims before is dead.
            await store.adopt()
            engine = await self._start_engine(store, folder, stack)
            started.set()
            await self._until_stopped(engine)
            log.info("process.stopping")
        log.info("process.stopped")
        return not engine.failed.is_set()

    def stop(self) -> None:
        """Ask for an orderly stop."""
        self._stop.set()

    async def _start_engine(self, store: SqliteStore, folder: DataFolder, stack: AsyncExitStack) -> Engine:
        settings, agents = self.settings, self.app.by_name()
        routing = self._routing(tuple(agents))
        bus = StoreBus(store.inbox)
        trail = Trail(store.operations, self._clock)
        secret = folder.secret(COOKIE_SECRET).encode()
        webchat = WebChat(store, bus, routing, self._clock, secret, tenant=settings.tenant)
        cron = CronLoop(store.cron, agents, self._clock, tenant=settings.tenant)
        await cron.declare()
        adapters = [webchat, *outgoing(settings, self._clock.now)]
        artifacts = open_artifacts(settings)
        stack.push_async_callback(artifacts.close)
        engine = Engine(
            store,
            self.app,
            adapters,
            self._clock,
            self._random,
            settings=EngineSettings(
                scheduler=SchedulerSettings(
                    turns_max=settings.turns_max, lease_ttl_s=settings.lease_ttl_s, drain_s=settings.drain_s
                ),
                relay=RelaySettings(sends_max=settings.sends_max, drain_s=settings.drain_s),
            ),
            extra_loops={"cron": cron.run, "trail": trail.run},
            artifacts=artifacts,
        )
        self._engine = engine
        stack.callback(store.listen(cron.notice))
        stack.callback(store.listen(webchat.notice))
        services = self._services(store, bus, routing, trail, webchat, folder, tuple(agents))
        server = Server(make_application(services), settings.host, settings.port)
        self.port = await server.start()
        await engine.start()
        stack.push_async_callback(trail.close)
        stack.push_async_callback(engine.stop)
        stack.push_async_callback(server.stop)
        return engine

    def _services(
        self,
        store: SqliteStore,
        bus: StoreBus,
        routing: Routing,
        trail: Trail,
        webchat: WebChat,
        folder: DataFolder,
        agents: Sequence[str],
    ) -> Services:
        settings = self.settings
        self.token = settings.token.get_secret_value() if settings.token else folder.secret(TOKEN)
        return Services(
            store=store,
            bus=bus,
            routing=routing,
            tokens=Tokens(tokens_of(settings, self.token, agents)),
            trail=trail,
            clock=self._clock,
            webchat=webchat,
            operator=Operator(store, self._clock, self.app.by_name()),
            hooks=hooks_of(settings, agents),
            endpoints=frozenset(settings.endpoints),
            ready=self._not_ready,
            cookie_secret=folder.secret(COOKIE_SECRET).encode(),
            hosts=hosts_of(settings),
            tenant=settings.tenant,
        )

    def _routing(self, agents: Sequence[str]) -> Routing:
        if not agents:
            raise BadSettings("the app has no agents", hint="write `app = App(agents=[...])`")
        return self.settings.routing.to_routing(agents)

    def _not_ready(self) -> str:
        """Why this process is not ready, or "". A loop that is alive but does not move is not ready."""
        engine = self._engine
        if engine is None:
            return "starting"
        if self._stop.is_set():
            return "stopping"
        if engine.failed.is_set():
            return "a loop died"
        stalled_s = self._clock.monotonic() - engine.relay.progress_at
        return f"the relay has not moved for {stalled_s:.0f} s" if stalled_s > STALL_S else ""

    async def _until_stopped(self, engine: Engine) -> None:
        waits = [asyncio.ensure_future(self._stop.wait()), asyncio.ensure_future(engine.failed.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
