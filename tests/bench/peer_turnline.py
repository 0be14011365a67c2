"""Turnline as one peer of a harness that drives several systems with one workload, for paired figures.

    TURNLINE_PEERS=FOLDER python -m tests.bench.peer_turnline --sessions 1000 --events 20000

The folder holds the harness: `common/harness.py` (`main(PeerClass, parser)`), its workload and its turn function.
Events are accepted through the bus, turns run in the engine, replies leave as signed webhooks to the harness's sink.
"""

import asyncio
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from random import Random

from consumers.agent import Agent, App
from consumers.bus import StoreBus
from outbox.client import HttpClient
from outbox.egress import parse_allow
from outbox.webhook import SignedWebhook, WebhookEndpoint
from sessionstore.clock import SystemClock
from sessionstore.event import Event
from sessionstore.inbox import NewRow
from sessionstore.sqlite.store import SqliteStore
from turnline.bench.run import SECRET
from turnline.engine import Engine
from turnline.logs import configure_logs

sys.path.insert(0, os.environ.get("TURNLINE_PEERS", "."))


class Peer:
    """See the harness for what a peer is."""

    name = "turnline-sqlite"
    pipelined = True
    sink_args: tuple[str, ...] = ()

    def __init__(self, cfg):
        self.folder = tempfile.TemporaryDirectory(prefix="turnline-peer-")

    def versions(self):
        """For the result."""
        return {name: version(name) for name in ("aiohttp", "orjson", "uvloop")}

    async def setup(self, cfg):
        """Start an engine."""
        from common import turn as workload_turn

        configure_logs("text", "error")
        clock = SystemClock()
        self.store = SqliteStore(Path(self.folder.name) / "peer.sqlite", clock)
        self.bus = StoreBus(self.store.inbox)
        agent = Agent("echo")

        @agent.on("message")
        async def handle(turn):
            turn.state, reply = workload_turn.apply(turn.state or None, turn.event.data)
            turn.request("sink", reply, adapter="webhook")

        endpoint = WebhookEndpoint(f"http://127.0.0.1:{cfg.sink_port}/r", (SECRET,))
        webhook = SignedWebhook({"sink": endpoint}, HttpClient(parse_allow("127.0.0.1")), clock.now)
        self.engine = Engine(self.store, App([agent]), [webhook], clock, Random(7))
        await self.engine.start()

    async def submit(self, ev):
        """Hand it to the bus; the future is done once it is durable."""
        event = Event("default", "bench", ev["event_id"], "message", f"agent:echo/x:{ev['session_key']}", "echo", ev)
        future = asyncio.ensure_future(self.bus.publish([NewRow(event, b"x")]))
        await asyncio.sleep(0)
        return future

    def pids(self):
        """All in the driver's process."""
        return {}

    async def teardown(self):
        """Stop."""
        await self.engine.stop()
        await self.store.close()
        self.folder.cleanup()


if __name__ == "__main__":
    from common import harness

    harness.main(Peer, harness.parser(__doc__))
