"""The batcher: what arrives during one flush is the next, each item gets its own result, a bad one fails alone."""

import asyncio
from collections.abc import Sequence

import pytest

from sessionstore.batcher import Batcher


class Flush:
    """A flush function that notes its batches, and waits at a gate when it has one."""

    def __init__(self, *, gated: bool = False) -> None:
        self.batches: list[list[int]] = []
        self.gate = asyncio.Event()
        self.entered = asyncio.Event()
        self.under_way = 0
        self.under_way_max = 0
        if not gated:
            self.gate.set()

    async def __call__(self, items: Sequence[int]) -> list[int]:
        self.batches.append(list(items))
        self.under_way += 1
        self.under_way_max = max(self.under_way, self.under_way_max)
        self.entered.set()
        try:
            await self.gate.wait()
            if 13 in items:
                raise ValueError("thirteen")
            return [item * 10 for item in items]
        finally:
            self.under_way -= 1


async def test_a_lone_item_is_flushed_at_once() -> None:
    flush = Flush()
    assert await Batcher(flush).submit(1) == 10
    assert flush.batches == [[1]]


async def test_items_of_one_moment_share_a_flush() -> None:
    flush = Flush()
    batcher = Batcher(flush)
    assert await asyncio.gather(*(batcher.submit(n) for n in range(5))) == [0, 10, 20, 30, 40]
    assert flush.batches == [[0, 1, 2, 3, 4]]


async def test_what_arrives_during_the_flushes_is_the_next_one() -> None:
    flush = Flush(gated=True)
    batcher = Batcher(flush, flushes_max=1)
    first = batcher.enqueue(0)
    await flush.entered.wait()
    rest = [batcher.enqueue(n) for n in (1, 2, 3)]
    flush.gate.set()
    assert [await f for f in (first, *rest)] == [0, 10, 20, 30]
    assert flush.batches == [[0], [1, 2, 3]]


async def test_no_more_flushes_than_allowed_are_under_way() -> None:
    flush = Flush(gated=True)
    batcher = Batcher(flush, batch_max=1, flushes_max=2)
    futures = [batcher.enqueue(n) for n in range(6)]
    await flush.entered.wait()
    flush.gate.set()
    await asyncio.gather(*futures)
    assert flush.under_way_max == 2


async def test_a_batch_is_bounded_and_order_is_kept() -> None:
    flush = Flush()
    batcher = Batcher(flush, batch_max=4, flushes_max=1)
    await asyncio.gather(*(batcher.submit(n) for n in range(10)))
    assert flush.batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


async def test_a_bad_item_fails_alone() -> None:
    batcher = Batcher(Flush())
    results = await asyncio.gather(*(batcher.submit(n) for n in (12, 13, 14)), return_exceptions=True)
    assert results[0] == 120
    assert isinstance(results[1], ValueError)
    assert results[2] == 140


async def test_it_goes_on_after_a_failure() -> None:
    batcher = Batcher(Flush())
    with pytest.raises(ValueError, match="thirteen"):
        await batcher.submit(13)
    assert await batcher.submit(1) == 10


async def test_a_caller_that_goes_away_takes_nothing_back_and_disturbs_nobody() -> None:
    flush = Flush(gated=True)
    batcher = Batcher(flush)
    leaving, staying = asyncio.ensure_future(batcher.submit(1)), asyncio.ensure_future(batcher.submit(2))
    await flush.entered.wait()
    leaving.cancel()
    flush.gate.set()
    assert await staying == 20
    assert flush.batches == [[1, 2]]


async def test_a_flush_that_answers_too_little_fails_its_items_instead_of_hanging_them() -> None:
    async def forgetful(items: Sequence[int]) -> list[int]:
        return []

    with pytest.raises(ValueError, match="0 results"):
        await asyncio.wait_for(Batcher(forgetful).submit(1), timeout=1)


async def test_a_flush_that_is_cancelled_fails_its_items_instead_of_hanging_them() -> None:
    async def cancelled(items: Sequence[int]) -> list[int]:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(Batcher(cancelled).submit(1), timeout=1)


async def test_drain_waits_for_everything() -> None:
    flush = Flush()
    batcher = Batcher(flush, batch_max=2, flushes_max=1)
    futures = [batcher.enqueue(n) for n in range(5)]
    await batcher.drain()
    assert all(future.done() for future in futures)
