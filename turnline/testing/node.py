"""A node: one engine over a store file, as one simulated process that can be frozen, stopped and killed."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from consumers.agent import App
from outbox.adapter import EffectAdapter
from router.cron import CronLoop
from sessionstore.artifact import ArtifactStore
from sessionstore.key import DEFAULT_TENANT
from sessionstore.notice import Listener
from sessionstore.sqlite.database import Database
from sessionstore.sqlite.store import SqliteStore
from turnline.engine import Engine, EngineSettings
from turnline.testing.inline import Fuse, InlineDatabase, Latency, Trouble
from turnline.testing.life import Life
from turnline.testing.virtualtime import VirtualClock

Dressing = Callable[[SqliteStore], None]


class Node:
    """Born by `start`, once. All that its engine does belongs to `life`; `fuse` decides when it dies by itself."""

    def __init__(
        self,
        file: Path,
        clock: VirtualClock,
        app: App,
        adapters: Sequence[EffectAdapter],
        random: Random,
        *,
        fuse: Fuse | None = None,
        settings: EngineSettings | None = None,
        name: str = "node",
        latency: Latency | None = None,
        trouble: Trouble | None = None,
        group_max: int = 1,
        dress: Dressing | None = None,
        artifacts: ArtifactStore | None = None,
    ) -> None:
        self.life = Life(name)
        self.fuse = fuse or Fuse()
        self._file = file
        self._clock = clock
        self._app = app
        self._adapters = adapters
        self._random = random
        self._settings = settings or EngineSettings(threads_max=1)
        self._latency = latency
        self._trouble = trouble
        self._group_max = group_max
        self._dress = dress
        self._artifacts = artifacts
        self._store: SqliteStore | None = None
        self._engine: Engine | None = None

    @property
    def store(self) -> SqliteStore:
        """Its store. Raises RuntimeError before it has begun to start."""
        if self._store is None:
            raise RuntimeError("this node has not started")
        return self._store

    @property
    def engine(self) -> Engine:
        """Its engine. Raises RuntimeError before it has started."""
        if self._engine is None:
            raise RuntimeError("this node has not started")
        return self._engine

    @property
    def running(self) -> bool:
        """Whether its loops are up: started, not dead; it may be frozen."""
        return self._engine is not None and not self.fuse.blown.is_set()

    async def start(self, *, adopt: bool) -> None:
        """Open the file, with `adopt` declare former owners dead, start the loops. Raises Died."""
        await self.life.run(self._start(adopt))

    async def stop(self) -> None:
        """An orderly end: what is under way is finished, leases are given back. Raises Died when it dies on the way."""
        await self.life.run(self._stop())
        await self.kill()

    async def kill(self) -> None:
        """The end of a killed process: no loop says goodbye, no lease is given back."""
        self.fuse.blown.set()
        await self.life.end()
        if self._store is not None:
            await self._store.close()

    async def _stop(self) -> None:
        await self.engine.stop()
        await self.store.close()

    async def _start(self, adopt: bool) -> None:
        def make(path: Path, sql: Mapping[str, str], listener: Listener) -> Database:
            return InlineDatabase(
                path,
                sql,
                listener,
                self.fuse,
                latency=self._latency,
                trouble=self._trouble,
                group_max=self._group_max,
            )

        self._store = SqliteStore(self._file, self._clock, make_database=make)
        if self._dress is not None:
            self._dress(self._store)
        if adopt:
            await self._store.adopt()
        cron = CronLoop(self._store.cron, self._app.by_name(), self._clock, tenant=DEFAULT_TENANT)
        await cron.declare()
        engine = Engine(
            self._store,
            self._app,
            list(self._adapters),
            self._clock,
            self._random,
            settings=self._settings,
            extra_loops={"cron": cron.run},
            artifacts=self._artifacts,
        )
        await engine.start()
        self._engine = engine
