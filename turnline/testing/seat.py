"""Seats: places for engines over one store file; where one dies, the next one is born after a while."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from consumers.agent import App
from outbox.adapter import EffectAdapter
from sessionstore.errors import StoreError
from turnline.engine import EngineSettings
from turnline.testing.chronicle import Chronicle, Expected
from turnline.testing.inline import Fuse, Side
from turnline.testing.life import Died
from turnline.testing.node import Node
from turnline.testing.virtualtime import VirtualClock
from turnline.testing.witness import watch

T = TypeVar("T")

CALL_TIMEOUT_S = 4.0
STOP_S = 60.0
GROUP_MAX = 8
TROUBLE_SHARES = (0.0, 0.005, 0.03)  # of a node's transactions that err, on each side


class Unlucky(StoreError, Expected):
    """A store's error that the simulation made."""


class Unreachable(Exception):
    """Nobody answered, or who was asked died: whether it was done is not known."""


@dataclass(frozen=True, slots=True)
class Making:
    """What engines are made of. `settings` draws each engine's own."""

    file: Path
    clock: VirtualClock
    make_app: Callable[[], App]
    make_adapters: Callable[[], Sequence[EffectAdapter]]
    settings: Callable[[Random], EngineSettings]


class Seat:
    """One place. `healed` ends all dying."""

    def __init__(self, name: str, making: Making, random: Random, chronicle: Chronicle) -> None:
        self.name = name
        self.node: Node | None = None
        self.healed = False
        self.deaths = 0
        self._making = making
        self._random = random
        self._chronicle = chronicle
        self._births = 0
        self._trouble_share = 0.0
        self._stopping: Node | None = None
        self._leaving = False

    @property
    def running(self) -> Node | None:
        """Its engine, if one is up; it may be frozen."""
        return self.node if self.node is not None and self.node.running else None

    async def keep(self, alone: Callable[["Seat"], bool]) -> None:
        """Have an engine here until `leave`. `alone` tells whether no other can be running: then former owners are
        declared dead."""
        while not self._leaving:
            node = self.node = self._make()
            adopt = alone(self)
            self._chronicle.tell(f"{node.life.name} is born{', alone' if adopt else ''}")
            try:
                await node.start(adopt=adopt)
                await node.fuse.blown.wait()
            except (Died, Unlucky):
                pass
            self._chronicle.tell(f"{node.life.name} is dead")
            self.deaths += 1
            await node.kill()
            if not self._leaving:
                await asyncio.sleep(self._random.choice([0.0, 1.0, self._random.uniform(0, 10)]))

    def heal(self) -> None:
        """From here on nobody dies here."""
        self.healed = True
        if self.node is not None:
            self.node.fuse.at = None
            self.node.life.thaw()

    async def stop(self, *, leave: bool = False) -> None:
        """Stop its engine in an orderly way; `leave`: and have no other. Raises AssertionError when it does not end."""
        self._leaving = self._leaving or leave
        node = self.running
        if node is None or node is self._stopping:
            return
        self._stopping = node
        self._chronicle.tell(f"{node.life.name} is asked to stop")
        frozen = node.life.frozen
        try:
            async with asyncio.timeout(STOP_S):
                await node.stop()
        except (Died, Unlucky):
            return
        except TimeoutError:
            if not (frozen or node.life.frozen):
                raise AssertionError(f"{node.life.name} did not stop within {STOP_S:.0f} s") from None

    async def kill(self) -> None:
        """Its engine dies now."""
        if self.node is not None:
            await self.node.kill()

    def _make(self) -> Node:
        self._births += 1
        self._trouble_share = self._random.choice(TROUBLE_SHARES)
        random, making = self._random, self._making
        return Node(
            making.file,
            making.clock,
            making.make_app(),
            making.make_adapters(),
            Random(random.random()),  # noqa: S311 - a simulation, not a secret
            fuse=self._fuse(),
            settings=making.settings(random),
            name=f"{self.name}{self._births}",
            latency=self._latency,
            trouble=self._trouble,
            group_max=GROUP_MAX,
            dress=watch,
        )

    def _fuse(self) -> Fuse:
        if self.healed or self._random.random() < 0.3:
            return Fuse()
        return Fuse(self._random.choice([self._random.randint(1, 20), self._random.randint(1, 120)]), self._side())

    def _side(self) -> Side:
        return self._random.choice(list(Side))

    def _trouble(self) -> Exception | None:
        if self.healed or self._random.random() >= self._trouble_share:
            return None
        return Unlucky("the store could not do it, or perhaps it did")

    def _latency(self) -> float:
        chance = self._random.random()
        if self.healed or chance < 0.9:
            return self._random.uniform(0, 0.004)
        return self._random.uniform(0, 0.05 if chance < 0.98 else 0.5)


class Seats:
    """All of them, as one address: who calls gets some engine, or none."""

    def __init__(self, seats: Sequence[Seat], random: Random) -> None:
        self.all = tuple(seats)
        self._random = random
        self._keeping: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Have engines in all."""
        self._keeping = [asyncio.ensure_future(seat.keep(self._alone)) for seat in self.all]

    async def call(self, act: Callable[[Node], Coroutine[Any, Any, T]]) -> T:
        """Do it as part of one of the running engines. Raises Unreachable, and whatever `act` raises."""
        running = [seat.running for seat in self.all if seat.running is not None]
        nodes = [node for node in running if node is not None]
        if not nodes:
            raise Unreachable
        node = self._random.choice(nodes)
        task = node.life.spawn(act(node))
        task.add_done_callback(_retrieve)
        await asyncio.wait([task], timeout=CALL_TIMEOUT_S)
        if not task.done() or task.cancelled() or isinstance(task.exception(), Died | Unlucky):
            raise Unreachable
        return task.result()

    def heal(self) -> None:
        """Thaw all; nobody dies any more."""
        for seat in self.all:
            seat.heal()

    async def stop(self) -> None:
        """An orderly end of all. Raises AssertionError when one does not end."""
        for seat in self.all:
            await seat.stop(leave=True)
        await asyncio.gather(*self._keeping)

    async def kill(self) -> None:
        """The end of all, at once."""
        for task in self._keeping:
            task.cancel()
        await asyncio.gather(*self._keeping, return_exceptions=True)
        for seat in self.all:
            await seat.kill()

    def _alone(self, one: Seat) -> bool:
        return all(seat is one or seat.running is None for seat in self.all)


def _retrieve(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()
