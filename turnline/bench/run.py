"""One measurement: an engine on a fresh SQLite file, an echo agent with a state of about 3 KB, replies over HTTP.

Closed loop for throughput: each session keeps a few events open, and sends the next one when a reply was delivered.
Open loop for latency: events come at a fixed rate. All in one process, so the load driver's CPU is in the figures.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from consumers.agent import Agent, App
from consumers.bus import StoreBus
from consumers.turn import Turn
from outbox.adapter import EffectAdapter, Limits, LookupResult, Sending, SendResult
from outbox.client import HttpClient
from outbox.egress import parse_allow
from outbox.webhook import SignedWebhook, WebhookEndpoint
from sessionstore.clock import SystemClock
from sessionstore.event import Event
from sessionstore.inbox import NewRow
from sessionstore.sqlite.store import SqliteStore
from turnline.engine import Engine, EngineSettings

SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"  # noqa: S105 - of a receiver that lives for this measurement
HISTORY_MAX = 20
PROFILE_FIELDS = 18
TEXT = "x" * 200


@dataclass(frozen=True, slots=True)
class Figures:
    """Seconds, events per second, and CPU seconds of this process per 1,000 turns."""

    mode: str
    sessions: int
    events: int
    per_s: float
    start_p50_s: float
    start_p99_s: float
    delivered_p50_s: float
    cpu_s_per_1000: float


@dataclass(slots=True)
class _Load:
    accepted: dict[str, float] = field(default_factory=dict)
    started: list[float] = field(default_factory=list)
    delivered: list[float] = field(default_factory=list)
    done: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    windows: dict[str, asyncio.Semaphore] = field(default_factory=dict)


class _Counted:
    """The webhook adapter, telling the load driver about each reply that was delivered."""

    name = "webhook"

    def __init__(self, inner: SignedWebhook, load: _Load) -> None:
        self._inner = inner
        self._load = load

    def limits_for(self, target: Any) -> Limits:
        return self._inner.limits_for(target)

    async def send(self, sending: Sending) -> SendResult:
        result = await self._inner.send(sending)
        load = self._load
        load.delivered.append(time.time() - load.accepted.pop(str(sending.body["event_id"])))
        load.windows[sending.session].release()
        load.done.release()
        return result

    async def lookup(self, sending: Sending) -> LookupResult:
        return await self._inner.lookup(sending)

    async def close(self) -> None:
        await self._inner.close()


def _agent(load: _Load) -> Agent[Any]:
    agent: Agent[Any] = Agent("echo")

    @agent.on("message")
    async def echo(turn: Turn[Any]) -> None:
        load.started.append(time.time() - turn.event.time)
        state = turn.state or {"n": 0, "messages": [], "profile": {f"field{i:02d}": TEXT[:100] for i in range(18)}}
        n = state["n"] + 1
        state["n"] = n
        state["messages"] = [*state["messages"], turn.message.text][-HISTORY_MAX:]
        state["profile"][f"field{n % PROFILE_FIELDS:02d}"] = f"{n:0100d}"
        turn.state = state
        turn.request("sink", {"event_id": turn.event.id, "text": f"reply {n}"}, adapter="webhook")

    return agent


async def measure(*, grouped: bool, sessions: int, events: int, window: int, rate: float = 0.0) -> Figures:
    """Run it once. With `rate` (events/s) the loop is open, and the latencies mean something."""
    load = _Load()
    async with _engine(load, grouped) as (store, bus):
        keys = [f"agent:echo/bench:{i}" for i in range(sessions)]
        load.windows = {key: asyncio.Semaphore(1_000_000 if rate else window) for key in keys}
        cpu, began = time.process_time(), time.time()
        feeding = _open_loop(bus, load, keys, events, rate) if rate else _closed_loop(bus, load, keys, events)
        await feeding
        for _ in range(events):
            await load.done.acquire()
        took, cpu = time.time() - began, time.process_time() - cpu
        del store
    return Figures(
        mode="grouped" if grouped else "direct",
        sessions=sessions,
        events=events,
        per_s=events / took,
        start_p50_s=median(load.started),
        start_p99_s=percentile(load.started, 0.99),
        delivered_p50_s=median(load.delivered),
        cpu_s_per_1000=cpu / events * 1000,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


@asynccontextmanager
async def _engine(load: _Load, grouped: bool) -> AsyncIterator[tuple[SqliteStore, StoreBus]]:
    clock = SystemClock()
    with tempfile.TemporaryDirectory(prefix="turnline-bench-") as folder:
        process, port = await _start_receiver()
        store = SqliteStore(Path(folder) / "bench.sqlite", clock, group_max=512 if grouped else 1)
        client = HttpClient(parse_allow("127.0.0.1"))
        endpoint = WebhookEndpoint(f"http://127.0.0.1:{port}/", (SECRET,))
        adapter: EffectAdapter = _Counted(SignedWebhook({"sink": endpoint}, client, clock.now), load)
        settings = EngineSettings(grouped=grouped)
        random = Random(7)  # noqa: S311 - jitter, not secrets
        engine = Engine(store, App([_agent(load)]), [adapter], clock, random, settings=settings)
        await engine.start()
        try:
            yield store, StoreBus(store.inbox)
        finally:
            await engine.stop()
            await store.close()
            process.kill()
            await process.wait()


async def _start_receiver() -> tuple[asyncio.subprocess.Process, int]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "turnline.bench.receiver", stdout=asyncio.subprocess.PIPE
    )
    if process.stdout is None:
        raise RuntimeError("the receiver has no output")
    return process, int(await process.stdout.readline())


async def _closed_loop(bus: StoreBus, load: _Load, keys: Sequence[str], events: int) -> None:
    shares = [events // len(keys) + (i < events % len(keys)) for i in range(len(keys))]
    await asyncio.gather(*(_session(bus, load, key, n) for key, n in zip(keys, shares, strict=True)))


async def _session(bus: StoreBus, load: _Load, key: str, events: int) -> None:
    for i in range(events):
        await load.windows[key].acquire()
        await _publish(bus, load, key, f"{key}-{i}")


async def _open_loop(bus: StoreBus, load: _Load, keys: Sequence[str], events: int, rate: float) -> None:
    began, tasks = time.time(), []
    for i in range(events):
        wait_s = began + i / rate - time.time()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
        tasks.append(asyncio.ensure_future(_publish(bus, load, keys[i % len(keys)], str(i))))
    await asyncio.gather(*tasks)


async def _publish(bus: StoreBus, load: _Load, key: str, event_id: str) -> None:
    now = time.time()
    load.accepted[event_id] = now
    event = Event("default", "bench", event_id, "message", key, "echo", {"text": TEXT}, time=now)
    await bus.publish([NewRow(event, b"x")])
