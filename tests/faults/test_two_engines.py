"""Two engines over one file, in virtual time: one knows what the other has done meanwhile, or does no harm."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from consumers.agent import Agent, App, Failure, QueuePolicy
from consumers.reconciler import ReconcilerSettings
from consumers.scheduler import SchedulerSettings
from consumers.turn import Turn
from outbox.adapter import Idempotency
from sessionstore.event import Event, Kind, Rank
from sessionstore.inbox import NewRow, SessionRef
from turnline.engine import EngineSettings
from turnline.testing import FakeChannel, run_virtually
from turnline.testing.node import Node
from turnline.testing.virtualtime import VirtualClock

TTL_S = 5.0
GRACE_S = 0.5
RETRY_S = 10.0
QUIET_S = 60.0

Handler = Callable[[Turn[Any]], Awaitable[None]]


class Pair:
    """Engines `a` and `b`, an agent `x`, and a channel that both send to."""

    def __init__(self, folder: Path, handler: Handler, queue: QueuePolicy | None = None, **limits: Any) -> None:
        agent: Agent[Any] = Agent("x", queue=queue, failure=Failure(backoff_s=RETRY_S))
        agent.on("message")(handler)
        self.channel = FakeChannel(idempotency=Idempotency.NATIVE)
        scheduler = SchedulerSettings(lease_ttl_s=TTL_S, idle_grace_s=GRACE_S, **limits)
        settings = EngineSettings(scheduler=scheduler, reconciler=ReconcilerSettings(), threads_max=1)
        clock = VirtualClock()
        self.a, self.b = (
            Node(
                folder / "store.sqlite",
                clock,
                App(agents=[agent]),
                [self.channel],
                Random(name),
                name=name,
                settings=settings,
            )
            for name in "ab"
        )

    async def put(self, node: Node, *texts: str, session: str = "agent:x/dm:1", **changes: Any) -> None:
        """Messages that arrive at one of the engines."""
        route = {"adapter": "fake", "lane": "fake"}
        events = [
            Event("acme", "test", t, "message", session, "x", {"text": t}, reply_route=route, **changes) for t in texts
        ]
        await node.life.run(_put(node, events))


async def _put(node: Node, events: list[Event]) -> None:
    await node.store.inbox.put([NewRow(event) for event in events])


@asynccontextmanager
async def started(pair: Pair) -> AsyncIterator[Pair]:
    await pair.a.start(adopt=True)
    await pair.b.start(adopt=False)
    yield pair
    for node in (pair.a, pair.b):
        if node.running:
            await node.stop()


def test_what_another_engine_has_run_is_not_run_again_from_memory(tmp_path: Path) -> None:
    runs: list[str] = []

    async def handler(turn: Turn[Any]) -> None:
        runs.append(turn.message.text)
        await asyncio.sleep(4.0 if turn.message.text == "slow" else 0.0)

    async def life() -> None:
        async with started(Pair(tmp_path, handler, turns_max=1)) as pair:
            # `a` knows of the second message, and has no slot for it until `b` has long run it.
            await pair.put(pair.a, "slow", session="agent:x/dm:slow")
            await pair.put(pair.a, "quick")
            await asyncio.sleep(QUIET_S)
        assert runs == ["slow", "quick"]

    run_virtually(life())


def test_a_batch_leaves_no_row_out_that_its_engine_has_not_seen(tmp_path: Path) -> None:
    seen: list[str] = []

    async def handler(turn: Turn[Any]) -> None:
        seen.extend(message.text for message in turn.messages)
        await asyncio.sleep(2.0 if turn.message.text == "0" else 0.0)

    async def life() -> None:
        queue = QueuePolicy("collect", quiet_s=0.1, wait_max_s=5.0)
        async with started(Pair(tmp_path, handler, queue, load_batch_max=2)) as pair:
            await pair.put(pair.a, "0")
            await asyncio.sleep(1.0)
            await pair.put(pair.b, "1", "2", "3", "4")
            await pair.put(pair.a, "5")
            await asyncio.sleep(QUIET_S)
        assert seen == ["0", "1", "2", "3", "4", "5"]

    run_virtually(life())


def test_nothing_overtakes_a_message_that_is_tried_again_later(tmp_path: Path) -> None:
    seen: list[str] = []

    async def handler(turn: Turn[Any]) -> None:
        if turn.message.text == "first" and turn.attempt == 1:
            raise RuntimeError("once")
        seen.append(turn.message.text)

    async def life() -> None:
        async with started(Pair(tmp_path, handler)) as pair:
            await pair.b.kill()
            await pair.put(pair.a, "first")
            await asyncio.sleep(RETRY_S / 4)
            await pair.put(pair.a, "command", kind=Kind.COMMAND, rank=Rank.COMMAND)
            await asyncio.sleep(GRACE_S / 2)  # the lease is still held
            await pair.put(pair.a, "second")
            await asyncio.sleep(QUIET_S)
        assert seen == ["command", "first", "second"]

    run_virtually(life())


def test_urgent_rows_keep_their_order_where_not_all_of_them_are_kept_in_memory(tmp_path: Path) -> None:
    seen: list[str] = []

    async def handler(turn: Turn[Any]) -> None:
        seen.append(turn.message.text)
        await asyncio.sleep(1.0)

    async def life() -> None:
        async with started(Pair(tmp_path, handler, mailbox_rows_max=1)) as pair:
            urgent = {"kind": Kind.COMMAND, "rank": Rank.COMMAND}
            await pair.put(pair.a, "1", "2", **urgent)  # only the first is kept
            await asyncio.sleep(0.5)
            await pair.put(pair.a, "3", **urgent)  # kept, while the first one runs
            await asyncio.sleep(QUIET_S)
        assert seen == ["1", "2", "3"]

    run_virtually(life())


def test_an_engine_that_was_frozen_for_longer_than_its_lease_commits_nothing(tmp_path: Path) -> None:
    async def handler(turn: Turn[Any]) -> None:
        await asyncio.sleep(1.0)
        turn.reply(f"re {turn.message.text}")

    async def life() -> None:
        async with started(Pair(tmp_path, handler)) as pair:
            await pair.put(pair.a, "hello")
            await asyncio.sleep(0.5)
            pair.a.life.freeze()  # inside the handler
            await asyncio.sleep(TTL_S * 3)
            assert pair.channel.texts == ["re hello"]
            pair.a.life.thaw()
            await asyncio.sleep(QUIET_S)
            session = await pair.b.store.reads.session(SessionRef("acme", "agent:x/dm:1"))
        assert session is not None
        assert session["version"] == 1
        assert len(pair.channel.arrivals) == 1

    run_virtually(life())
