"""The audit trail: nothing waits for it, no flood fills it, and what it takes is written once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.trail import Trail
from router.trailquota import OTHERS, QuotaLimits, TrailQuota
from sessionstore.errors import StoreBusy
from sessionstore.operations import TrailLine


@dataclass
class Hands:
    """A clock that moves when told."""

    at: float = 1_000.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at


@dataclass
class Table:
    """Takes lines; may be closed for a while, or slow."""

    lines: list[TrailLine] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    busy: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    grew: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.open.set()

    async def trail(self, lines: Sequence[TrailLine]) -> None:
        self.entered.set()
        await self.open.wait()
        self.calls.append(len(lines))
        if self.busy:
            self.busy -= 1
            raise StoreBusy("locked")
        async with self.grew:
            self.lines.extend(lines)
            self.grew.notify_all()

    async def until(self, count: int) -> None:
        async with self.grew:
            await self.grew.wait_for(lambda: len(self.lines) >= count)

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not asked for")


def line(actor: str = "ip:1", action: str = "hook.refused.x") -> TrailLine:
    return TrailLine("t", actor, action, "hooks/a", "401")


async def test_lines_are_written_in_order_and_in_batches() -> None:
    table = Table()
    trail = Trail(table, Hands())
    running = asyncio.ensure_future(trail.run())
    for n in range(100):
        trail.note("t", "ip:1", "hook.refused.x", "hooks/a", str(n))
    await table.until(100)
    assert [each.detail for each in table.lines] == [str(n) for n in range(100)]
    assert len(table.calls) == 1
    running.cancel()
    await trail.close()
    assert len(table.lines) == 100


async def test_a_flood_from_one_source_becomes_a_number() -> None:
    table = Table()
    trail = Trail(table, Hands(), limits=QuotaLimits(lines_per_actor_max=10))
    for _ in range(4_322):
        trail.note("t", "ip:1", "hook.refused.x", "hooks/a")
    trail.note("t", "ip:2", "hook.refused.x", "hooks/a")
    trail.note("t", "ip:1", "hook.refused.y", "hooks/a")
    await trail.close()
    assert len(table.lines) == 10 + 1 + 1 + 1
    assert table.lines[-1] == TrailLine("t", "ip:1", "hook.refused.x", "", "and 4,312 more like it within 60 s")


async def test_the_number_is_written_when_the_minute_ends_without_anybody_calling() -> None:
    table, clock = Table(), Hands()
    trail = Trail(table, clock, limits=QuotaLimits(lines_per_actor_max=1, window_s=0.01))
    for _ in range(3):
        trail.note("t", "ip:1", "hook.refused.x", "hooks/a")
    running = asyncio.ensure_future(trail.run())
    await table.until(1)
    clock.at += 1
    await table.until(2)
    assert table.lines[1].detail.startswith("and 2 more")
    trail.note("t", "ip:1", "hook.refused.x", "hooks/a", "the next minute")
    await table.until(3)
    running.cancel()


async def test_what_finds_no_room_is_counted_and_said() -> None:
    table = Table()
    trail = Trail(table, Hands(), pending_lines_max=5)
    for n in range(12):
        trail.note("t", f"ip:{n}", "hook.refused.x", "hooks/a")
    running = asyncio.ensure_future(trail.run())
    await table.until(5)
    trail.note("t", "ip:13", "hook.refused.x", "hooks/a")
    await table.until(7)
    assert {"7 lines were not kept"} == {each.detail for each in table.lines if each.action == "trail.lines_lost"}
    running.cancel()


async def test_a_busy_store_is_tried_again_and_no_line_is_lost_or_doubled() -> None:
    table = Table(busy=2)
    trail = Trail(table, Hands(), retry_s=0)
    running = asyncio.ensure_future(trail.run())
    trail.note("t", "ip:1", "hook.refused.x", "hooks/a", "one")
    await table.until(1)
    assert [each.detail for each in table.lines] == ["one"]
    running.cancel()


async def test_a_write_under_way_when_the_loop_is_cancelled_is_neither_lost_nor_doubled() -> None:
    table = Table()
    table.open.clear()
    trail = Trail(table, Hands())
    running = asyncio.ensure_future(trail.run())
    trail.note("t", "ip:1", "hook.refused.x", "hooks/a", "one")
    await table.entered.wait()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    trail.note("t", "ip:1", "hook.refused.x", "hooks/a", "two")
    table.open.set()
    await trail.close()
    assert [each.detail for each in table.lines] == ["one", "two"]


async def test_closing_over_a_store_that_takes_nothing_ends() -> None:
    table = Table(busy=1)
    trail = Trail(table, Hands())
    trail.note("t", "ip:1", "hook.refused.x", "hooks/a")
    await trail.close()
    assert table.lines == []


async def test_write_is_on_record_when_it_returns_and_fails_aloud() -> None:
    table = Table()
    trail = Trail(table, Hands(), limits=QuotaLimits(lines_per_actor_max=0))
    await trail.write("t", "admin", "effect.mark", "e1", "seen")
    assert table.lines == [TrailLine("t", "admin", "effect.mark", "e1", "seen")]
    table.busy = 1
    with pytest.raises(StoreBusy):
        await trail.write("t", "admin", "effect.mark", "e1", "seen")


async def test_strangers_text_is_cut_and_cannot_break_a_line_or_the_table() -> None:
    table = Table()
    trail = Trail(table, Hands())
    trail.note("t", "ip:\udcff", "hook.refused.x", "hooks/" + "a" * 1_000, "x\ny\x1b[31m" + "z" * 10_000)
    await trail.close()
    [kept] = table.lines
    assert len(kept.target) == 200
    assert len(kept.detail) == 500
    for text in (kept.actor, kept.target, kept.detail):
        assert text.isprintable()
        assert text.encode()


def test_many_actors_share_what_an_action_may_fill() -> None:
    quota = TrailQuota(QuotaLimits(lines_per_actor_max=5, lines_per_action_max=20, actors_max=100))
    admitted = sum(quota.admit(line(f"ip:{n}"), 0.0) for n in range(10_000))
    assert admitted == 20
    told = quota.end()
    assert len(told) <= 101
    assert OTHERS in {each.actor for each in told}
    assert sum(int(each.detail.split()[1].replace(",", "")) for each in told) == 10_000 - 20


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from("abc")), max_size=300))
def test_every_line_is_admitted_or_counted(sent: list[tuple[int, str]]) -> None:
    quota = TrailQuota(QuotaLimits(lines_per_actor_max=3, lines_per_action_max=30, actors_max=8))
    admitted = sum(quota.admit(line(f"ip:{actor}", action), 0.0) for actor, action in sent)
    held = sum(int(each.detail.split()[1].replace(",", "")) for each in quota.end())
    assert admitted + held == len(sent)
    assert quota.ends_in(0.0) is None
