"""Natural batching: what arrives during one flush is the next flush; no timer, so a lone caller waits for nobody.

Speed: see tests/bench/bench_commit.py. The plain form is to call the flush function with one item.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

BATCH_MAX = 256


class Batcher(Generic[Item, Result]):
    """Collects single items into calls of a plural function, at most `flushes_max` of them under way.

    When a batch raises, its items are tried one by one, so that one bad item fails alone; the function must therefore
    be safe to repeat.
    """

    def __init__(
        self,
        flush: Callable[[Sequence[Item]], Awaitable[Sequence[Result]]],
        *,
        batch_max: int = BATCH_MAX,
        flushes_max: int = 2,
    ) -> None:
        self._flush = flush
        self._batch_max = batch_max
        self._flushes_max = flushes_max
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._flushing: set[asyncio.Task[None]] = set()
        self._scheduled = False

    async def submit(self, item: Item) -> Result:
        """The item's own result, or its own error. Cancelling the caller does not take the item back."""
        return await self.enqueue(item)

    def enqueue(self, item: Item) -> "asyncio.Future[Result]":
        """Hand the item over, in order, and get a future of its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        self._waiting.append((item, future))
        if not self._scheduled and len(self._flushing) < self._flushes_max:
            self._scheduled = True
            loop.call_soon(self._start)
        return future

    async def drain(self) -> None:
        """Wait until nothing is under way."""
        while self._waiting or self._flushing or self._scheduled:
            if self._flushing:
                await asyncio.wait(tuple(self._flushing))
            else:
                await asyncio.sleep(0)

    def _start(self) -> None:
        self._scheduled = False
        while self._waiting and len(self._flushing) < self._flushes_max:
            batch = self._waiting[: self._batch_max]
            del self._waiting[: self._batch_max]
            task = asyncio.get_running_loop().create_task(self._run(batch))
            self._flushing.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._flushing.discard(task)
        if self._waiting and not self._scheduled:
            self._start()

    async def _run(self, batch: list[tuple[Item, "asyncio.Future[Result]"]]) -> None:
        try:
            results = await self._flush([item for item, _ in batch])
            if len(results) != len(batch):
                raise ValueError(f"a flush of {len(batch)} items gave {len(results)} results")
        except asyncio.CancelledError:
            # Nobody may be left waiting for a result that will never come.
            for _, future in batch:
                future.cancel()
            raise
        except Exception as error:
            if len(batch) == 1:
                _fail(batch[0][1], error)
                return
            for one in batch:
                await self._run([one])
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)


def _fail(future: "asyncio.Future[Result]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
