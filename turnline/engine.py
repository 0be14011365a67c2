"""The engine: the loops of one process, started, watched and stopped in order."""

import asyncio
import os
import secrets
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from random import Random
from typing import Any

import structlog

from consumers.agent import App
from consumers.reconciler import Reconciler, ReconcilerSettings
from consumers.runner import Runner
from consumers.scheduler import Scheduler, SchedulerSettings
from consumers.timekeeper import Timekeeper
from consumers.tools import AppFacts, tool_adapters
from outbox.adapter import EffectAdapter
from outbox.relay import Relay, RelaySettings
from sessionstore.artifact import ArtifactStore
from sessionstore.clock import Clock
from sessionstore.groupcommit import GroupCommit
from sessionstore.store import Store

log = structlog.get_logger(__name__)

ALL_LOOPS = ("worker", "relay", "scheduler")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Limits of the loops; `grouped` gathers concurrent commits into one transaction."""

    scheduler: SchedulerSettings = field(default_factory=SchedulerSettings)
    relay: RelaySettings = field(default_factory=RelaySettings)
    reconciler: ReconcilerSettings = field(default_factory=ReconcilerSettings)
    threads_max: int = 64
    grouped: bool = True


class Engine:
    """Worker, relay and scheduler over one store. `failed` is set when a loop died: then the process should end."""

    def __init__(
        self,
        store: Store,
        app: App,
        adapters: Sequence[EffectAdapter],
        clock: Clock,
        random: Random,
        *,
        settings: EngineSettings | None = None,
        extra_loops: Mapping[str, Callable[[], Awaitable[None]]] | None = None,
        artifacts: ArtifactStore | None = None,
    ) -> None:
        settings = settings or EngineSettings()
        agents = app.by_name()
        self.store = store
        self.adapters = {a.name: a for a in (*adapters, *app.adapters, *tool_adapters(agents))}
        self._threads = ThreadPoolExecutor(settings.threads_max, thread_name_prefix="turnline-handler")
        check = AppFacts(agents, store)
        self.relay = Relay(store.outbox, self.adapters, clock, random, check=check, settings=settings.relay)
        self.runner = Runner(
            agents,
            GroupCommit(store.commits) if settings.grouped else store.commits,
            store.leases,
            store.waits,
            clock,
            random,
            self._threads,
            courier=self.relay if settings.grouped else None,
            artifacts=artifacts,
            lease_ttl_s=settings.scheduler.lease_ttl_s,
        )
        owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        self.scheduler = Scheduler(store, self.runner, clock, random, owner=owner, settings=settings.scheduler)
        self.reconciler = Reconciler(
            store.outbox, self.adapters, clock, random, check=check, settings=settings.reconciler
        )
        self.timekeeper = Timekeeper(store.waits, clock)
        self._extra_loops = dict(extra_loops or {})
        self._tasks: list[asyncio.Task[Any]] = []
        self._unlisten: list[Callable[[], None]] = []
        self.failed = asyncio.Event()

    async def start(self) -> None:
        """Start all loops; they first pick up whatever a crash left."""
        loops = {
            "worker": self.scheduler.run,
            "relay": self.relay.run,
            "reconciler": self.reconciler.run,
            "timekeeper": self.timekeeper.run,
            **self._extra_loops,
        }
        listeners = (self.scheduler, self.relay, self.reconciler, self.timekeeper)
        self._unlisten = [self.store.listen(loop.notice) for loop in listeners]
        for name, run in loops.items():
            task = asyncio.ensure_future(run())
            task.set_name(f"turnline-{name}")
            task.add_done_callback(self._ended)
            self._tasks.append(task)

    async def stop(self) -> None:
        """Take nothing more, finish or abandon turns and sends by their journal, give leases back."""
        self.scheduler.stop()
        await self._wait_for("worker")
        for loop in (self.relay, self.reconciler, self.timekeeper):
            loop.stop()
        for name in self._extra_loops:
            self._task(name).cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for unlisten in self._unlisten:
            unlisten()
        for adapter in self.adapters.values():
            await adapter.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def abandon(self) -> None:
        """End all loops as a killed process does: nothing is finished, nothing is given back. For tests."""
        for unlisten in self._unlisten:
            unlisten()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _task(self, name: str) -> "asyncio.Task[Any]":
        return next(task for task in self._tasks if task.get_name() == f"turnline-{name}")

    async def _wait_for(self, name: str) -> None:
        await asyncio.gather(self._task(name), return_exceptions=True)

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled() and task.exception() is not None:
            log.critical("engine.loop_died", loop=task.get_name(), exc_info=task.exception())
            self.failed.set()
