"""The inline database does what the threaded one does, and dies or errs when it is told to."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sessionstore.errors import StoreError
from sessionstore.notice import Notice
from sessionstore.sqlite.database import Transaction
from turnline.testing.inline import Fuse, InlineDatabase, Side
from turnline.testing.life import Died
from turnline.testing.virtualtime import run_virtually

SQL = {"put": "INSERT INTO t VALUES (?)", "all": "SELECT n FROM t ORDER BY rowid"}


CREATE = "CREATE TABLE t (n INTEGER UNIQUE)"


def play(folder: Path, scene: Callable[[InlineDatabase], Awaitable[None]], **given: Any) -> None:
    async def whole() -> None:
        listener = given.pop("listener", lambda notice: None)
        fuse = given.pop("fuse", None) or Fuse()
        database = InlineDatabase(folder / "t.sqlite", SQL, listener, fuse, **given)
        await database.write(lambda tx: tx.connection.execute(CREATE).rowcount)
        await scene(database)
        await database.close()

    run_virtually(whole())


def put(n: int) -> Callable[[Transaction], int]:
    def operation(tx: Transaction) -> int:
        tx.run("put", (n,))
        return n

    return operation


async def stored(database: InlineDatabase) -> list[int]:
    other = InlineDatabase(database.path, SQL, lambda notice: None, Fuse())
    rows = await other.read(lambda tx: tx.all("all"))
    await other.close()
    return [row[0] for row in rows]


def test_writes_are_done_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    latencies = iter([0.5, 0.0, 0.1, 0.2, *[0.0] * 99])

    async def scene(database: InlineDatabase) -> None:
        results = await asyncio.gather(*(database.write(put(n)) for n in range(5)))
        assert results == list(range(5)) == await stored(database)

    play(tmp_path, scene, latency=lambda: next(latencies), group_max=2)


def test_one_that_fails_takes_nobody_of_its_group_along(tmp_path: Path) -> None:
    async def scene(database: InlineDatabase) -> None:
        first, again, other = await asyncio.gather(*(database.write(put(n)) for n in (1, 1, 2)), return_exceptions=True)
        assert (first, other) == (1, 2)
        assert isinstance(again, StoreError)
        assert await stored(database) == [1, 2]

    play(tmp_path, scene, group_max=8)


def test_who_stops_waiting_does_not_take_his_write_back(tmp_path: Path) -> None:
    async def scene(database: InlineDatabase) -> None:
        task = asyncio.create_task(database.write(put(1)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(5.0)
        assert await stored(database) == [1]

    play(tmp_path, scene, latency=lambda: 1.0)


@pytest.mark.parametrize(("side", "kept"), [(Side.BEFORE, []), (Side.AFTER, [1])])
def test_it_dies_on_either_side_of_the_chosen_transaction(tmp_path: Path, side: Side, kept: list[int]) -> None:
    fuse = Fuse(None, side)
    seen: list[Notice] = []

    async def scene(database: InlineDatabase) -> None:
        fuse.at = fuse.count + 1
        before = len(seen)
        for n in (1, 2):
            with pytest.raises(Died):
                await database.write(put(n))
        assert len(seen) == before
        assert await stored(database) == kept

    play(tmp_path, scene, fuse=fuse, listener=seen.append)


@pytest.mark.parametrize(("first", "kept"), [("before", []), ("after", [1])])
def test_it_errs_before_or_after_it_was_written_and_nobody_is_noticed(
    tmp_path: Path, first: str, kept: list[int]
) -> None:
    seen: list[Notice] = []
    error = StoreError("unlucky")

    async def scene(database: InlineDatabase) -> None:
        before = len(seen)
        troubles[:] = [error] if first == "before" else [None, error]
        with pytest.raises(StoreError, match="unlucky"):
            await database.write(put(1))
        assert len(seen) == before
        assert await stored(database) == kept

    troubles: list[StoreError | None] = []
    play(tmp_path, scene, trouble=lambda: troubles.pop(0) if troubles else None, listener=seen.append)
