"""Crash-everywhere: run a scenario, then once more for every boundary, crash there, recover, and check.

The boundaries are the two sides of every transaction: record and closing commits, claims, settlements, lease steps,
answers, timers, cron. Before it, nothing was kept; after it, it is durable and nobody was told. A send lies between two
of them, so a crash before the first byte and one after the last are both among them.
"""

import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from structlog.testing import capture_logs

from consumers.agent import App
from outbox.adapter import EffectAdapter, Idempotency
from sessionstore.audit import audit
from sessionstore.verify import verify_all
from turnline.testing.fakes import FakeChannel
from turnline.testing.inline import Fuse, Side
from turnline.testing.virtualtime import run_virtually
from turnline.testing.world import World

Scenario = Callable[[World], Awaitable[None]]
Check = Callable[[World], Awaitable[None]]


@dataclass(slots=True)
class Crashes:
    """What was visited: boundaries in all, and crashes that really happened."""

    boundaries: int = 0
    visited: int = 0
    points: list[str] = field(default_factory=list)


def crash_everywhere(
    folder: Path,
    make_app: Callable[[], App],
    scenario: Scenario,
    check: Check,
    *,
    make_adapters: Callable[[], Sequence[EffectAdapter]] = lambda: [FakeChannel()],
    every: int = 1,
) -> Crashes:
    """Run it all. `check` asserts what must hold at the end, whatever crashed on the way; the invariants of every
    scenario are checked besides. `every` visits only each n-th boundary, for long scenarios."""
    crashes = Crashes()
    crashes.boundaries = _live(folder / "whole", make_app, scenario, check, make_adapters, Fuse)
    for at in range(1, crashes.boundaries + 1, every):
        for side in Side:

            def fuse(at: int = at, side: Side = side) -> Fuse:
                return Fuse(at, side)

            try:
                _live(folder / f"{at}-{side}", make_app, scenario, check, make_adapters, fuse)
            except Exception as error:
                error.add_note(f"after a crash {side} transaction {at} of {crashes.boundaries}")
                raise
            crashes.visited += 1
    return crashes


def _live(
    folder: Path,
    make_app: Callable[[], App],
    scenario: Scenario,
    check: Check,
    make_adapters: Callable[[], Sequence[EffectAdapter]],
    make_fuse: Callable[[], Fuse],
) -> int:
    folder.mkdir(parents=True)
    try:
        # A dying process complains in every loop; what matters is what it leaves.
        with capture_logs():
            return run_virtually(_live_once(folder, make_app, scenario, check, make_adapters, make_fuse))
    finally:
        shutil.rmtree(folder)


async def _live_once(
    folder: Path,
    make_app: Callable[[], App],
    scenario: Scenario,
    check: Check,
    make_adapters: Callable[[], Sequence[EffectAdapter]],
    make_fuse: Callable[[], Fuse],
) -> int:
    fuse = make_fuse()
    world = World(folder, make_app, make_adapters(), fuse)
    await world.persist(world.start)
    await scenario(world)
    await world.settle()
    if fuse.at is not None and fuse.at <= fuse.count and not world.crashes:
        raise AssertionError(f"the crash at transaction {fuse.at} did not happen")
    await check_invariants(world)
    await check(world)
    count = world.fuse.count
    await world.die()
    return count


async def check_invariants(world: World) -> None:
    """What holds in every scenario: the books balance, records are their transcripts, lanes are in order, and what is
    done once is done once."""
    report = await audit(world.store.reads, None, None, None)
    if not report.balanced:
        raise AssertionError("; ".join(report.findings()))
    async for verdict in verify_all(world.store.reads, None):
        if verdict.differences:
            raise AssertionError(f"{verdict.ref.session}: {verdict.differences[0].says}")
    for channel in world.adapters.values():
        if isinstance(channel, FakeChannel):
            await _check_channel(world, channel)


async def _check_channel(world: World, channel: FakeChannel) -> None:
    rows = {e["effect_id"]: e for e in await world.store.reads.effects(None, limit=100_000)}
    first: dict[tuple[str, str], list[int]] = {}
    seen: set[str] = set()
    for sending in channel.arrivals:
        row = rows.get(sending.key)
        if row is None:
            raise AssertionError(f"{channel.name} was sent {sending.key}, which no commit decided on")
        if sending.key in seen:
            none = channel.limits_for({}).idempotency is Idempotency.NONE
            if none and not row["possible_duplicate"]:
                raise AssertionError(f"{channel.name} was sent {sending.key} twice, and nobody was told")
            continue
        seen.add(sending.key)
        first.setdefault((row["session"], row["lane"]), []).append(row["pos"])
    for lane, positions in first.items():
        if positions != sorted(positions):
            raise AssertionError(f"lane {lane} left in another order than it was decided: {positions}")
