"""What stuck sessions cost the others: the delay from accepted to handled, with and without them.

    python -m tests.bench.bench_stuck

One handler awaits for 30 s, and one synchronous handler sleeps in its thread for 30 s, while others are measured.
"""

import asyncio
import os
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median

from sessionstore.clock import SystemClock
from sessionstore.event import Event
from sessionstore.inbox import NewRow
from sessionstore.sqlite.store import SqliteStore
from turnline import Agent, App, Turn
from turnline.engine import Engine
from turnline.logs import configure_logs

EVENTS = 300
STUCK_S = 30.0


def agents(delays: list[float]) -> list[Agent]:
    """Two that are stuck, one that is measured."""
    waits, sleeps, quick = Agent("waits"), Agent("sleeps"), Agent("quick")

    @waits.on("message")
    async def wait(turn: Turn) -> None:
        await asyncio.sleep(STUCK_S)

    @sleeps.on("message")
    def sleep(turn: Turn) -> None:
        time.sleep(STUCK_S)

    @quick.on("message")
    async def note(turn: Turn) -> None:
        delays.append(time.time() - turn.event.time)

    return [waits, sleeps, quick]


async def measure(stuck: bool) -> list[float]:
    """Delays of other sessions' events, at 100 a second."""
    delays: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        clock = SystemClock()
        store = SqliteStore(Path(folder) / "bench.sqlite", clock)
        engine = Engine(store, App(agents(delays)), [], clock, Random(7))
        await engine.start()
        if stuck:
            for name in ("waits", "sleeps"):
                await store.inbox.put([NewRow(Event("default", "b", name, "message", f"agent:{name}/x:1", name), b"x")])
        for i in range(EVENTS):
            event = Event("default", "b", str(i), "message", f"agent:quick/x:{i % 20}", "quick", time=time.time())
            await store.inbox.put([NewRow(event, b"x")])
            await asyncio.sleep(0.01)
        while len(delays) < EVENTS:
            await asyncio.sleep(0.01)
        if not stuck:
            await engine.stop()
            await store.close()
    return sorted(delays)


async def main() -> None:
    """Print p50 and p99, without and with."""
    configure_logs("text", "critical")
    for stuck in (False, True):
        delays = await measure(stuck)
        p50, p99 = median(delays) * 1000, delays[int(len(delays) * 0.99)] * 1000
        print(
            f"{'with' if stuck else 'without':<8} stuck sessions: start p50 {p50:.2f} ms, p99 {p99:.2f} ms", flush=True
        )
    # An orderly stop would wait for the stuck ones.
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
