"""The database: one writer groups what is pending, a poisoned operation fails alone, readers see whole transactions."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from sessionstore.errors import StoreBusy, StoreError
from sessionstore.inbox import SessionRef
from sessionstore.notice import Notice
from sessionstore.sqlite import database as module
from sessionstore.sqlite.database import Database, Transaction, connect

SQL = {
    "insert": "INSERT INTO t (n) VALUES (?)",
    "all": "SELECT n FROM t ORDER BY n",
    "count": "SELECT count(*) FROM t",
    "broken": "INSERT INTO nowhere VALUES (1)",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.sqlite"
    connection = connect(path)
    connection.execute("CREATE TABLE t (n INTEGER UNIQUE)")
    connection.close()
    return path


@pytest.fixture
async def notices() -> list[Notice]:
    return []


@pytest.fixture
async def database(path: Path, notices: list[Notice]) -> AsyncIterator[Database]:
    database = Database(path, SQL, listener=notices.append)
    yield database
    await database.close()


def insert(n: int) -> Callable[[Transaction], int]:
    def operation(tx: Transaction) -> int:
        tx.run("insert", (n,))
        tx.notice.touched.add(SessionRef("t", str(n)))
        return n

    return operation


async def rows(database: Database) -> list[int]:
    return [n for (n,) in await database.read(lambda tx: tx.all("all"))]


class Gate:
    """An operation that keeps the writer busy until it is opened, so that what comes meanwhile is one group."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def __call__(self, tx: Transaction) -> None:
        self.entered.set()
        self.opened.wait(10)


async def grouped(database: Database, *operations: Callable[[Transaction], object]) -> list[object]:
    gate = Gate()
    first = asyncio.ensure_future(database.write(gate))
    await asyncio.to_thread(gate.entered.wait, 10)
    pending = [asyncio.ensure_future(database.write(operation)) for operation in operations]
    await asyncio.sleep(0)
    gate.opened.set()
    await first
    return await asyncio.gather(*pending, return_exceptions=True)


async def test_a_write_is_on_the_disk_when_it_returns(database: Database, path: Path) -> None:
    await database.write(insert(1))
    other = connect(path, read_only=True)
    assert other.execute("SELECT n FROM t").fetchall() == [(1,)]
    other.close()


async def test_what_comes_during_a_transaction_is_one_transaction_with_one_notice(
    database: Database, notices: list[Notice]
) -> None:
    assert await grouped(database, *map(insert, range(20))) == list(range(20))
    assert [len(n.touched) for n in notices if n.touched] == [20]


async def test_a_poisoned_operation_fails_alone(database: Database, notices: list[Notice]) -> None:
    def poison(tx: Transaction) -> None:
        tx.run("insert", (99,))
        tx.notice.touched.add(SessionRef("t", "poison"))
        raise ValueError("poison")

    results = await grouped(database, insert(1), poison, insert(2))
    assert results[0] == 1
    assert isinstance(results[1], ValueError)
    assert results[2] == 2
    assert await rows(database) == [1, 2]
    assert SessionRef("t", "poison") not in {ref for n in notices for ref in n.touched}


async def test_a_constraint_that_breaks_fails_its_operation_alone(database: Database) -> None:
    results = await grouped(database, insert(1), insert(1), insert(2))
    assert results[0] == 1
    assert isinstance(results[1], StoreError)
    assert results[2] == 2


async def test_a_statement_that_is_wrong_says_so(database: Database) -> None:
    with pytest.raises(StoreError, match="nowhere"):
        await database.write(lambda tx: tx.run("broken"))
    assert await database.write(insert(1)) == 1


async def test_a_writer_that_goes_away_still_commits(database: Database) -> None:
    gate = Gate()
    first = asyncio.ensure_future(database.write(gate))
    await asyncio.to_thread(gate.entered.wait, 10)
    leaving = asyncio.ensure_future(database.write(insert(1)))
    await asyncio.sleep(0)
    leaving.cancel()
    gate.opened.set()
    await first
    await database.write(insert(2))
    assert await rows(database) == [1, 2]


async def test_closing_finishes_what_is_pending(path: Path) -> None:
    database = Database(path, SQL)
    pending = [asyncio.ensure_future(database.write(insert(n))) for n in range(50)]
    await asyncio.sleep(0)
    await database.close()
    assert await asyncio.gather(*pending) == list(range(50))


async def test_a_closed_database_refuses(path: Path) -> None:
    database = Database(path, SQL)
    await database.close()
    with pytest.raises(StoreError):
        await database.write(insert(1))


async def test_a_file_that_another_process_keeps_locked_is_busy_and_nothing_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessionstore.sqlite.database.BUSY_TIMEOUT_S", 0.05)
    database = Database(path, SQL)
    locker = connect(path)
    locker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        await database.write(insert(1))
    locker.execute("ROLLBACK")
    locker.close()
    assert await database.write(insert(2)) == 2
    assert await rows(database) == [2]
    await database.close()


async def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StoreError):
        await database.read(insert(1))


async def test_a_listener_that_fails_takes_no_notice_from_the_others(path: Path) -> None:
    heard: list[Notice] = []

    def listener(notice: Notice) -> None:
        heard.append(notice)
        if len(heard) == 1:
            raise RuntimeError("a listener is broken")

    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    database = Database(path, SQL, listener=listener)
    await database.write(insert(1))
    await database.write(insert(2))
    await database.close()
    await asyncio.sleep(0)
    assert len(heard) == 2


def test_connections_are_durable_and_let_readers_work_beside_the_writer(path: Path) -> None:
    connection = connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()
    with pytest.raises(sqlite3.OperationalError):
        connect(path.with_name("missing.sqlite"), read_only=True).execute("SELECT 1 FROM t")


async def test_a_file_that_the_writer_cannot_open_is_told_at_once_and_nobody_waits_for_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="unable to open"):
        Database(tmp_path / "folder", SQL)


async def test_a_reader_that_cannot_open_the_file_is_told_as_an_error_of_the_store(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process may have as many files open as it may have."""

    def refused(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(module, "connect", refused)
    with pytest.raises(StoreError, match="unable to open"):
        await database.read(lambda tx: tx.all("all"))
