"""The SQLite file: one writer thread that groups what is pending into one transaction, and readers beside it.

Every write is an *operation*: a function of a `Transaction` that returns a value. Operations that arrive while one
transaction is being flushed make up the next one, so the batch grows with the load and no timer delays a lone write.
If an operation of a group raises, the group is rolled back and each is run again in a transaction of its own: so a
poisoned one hurts nobody else. With WAL and synchronous=FULL a commit is on the disk when COMMIT returns.
Rejected: a connection pool of writers (SQLite has one writer at a time; they would only wait on each other), and
savepoints around each operation (two more statements each, to guard against what almost never happens).
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Generic, TypeVar

from sessionstore.errors import StoreBusy, StoreError, TurnlineError
from sessionstore.notice import Notice

T = TypeVar("T")

GROUP_MAX = 512
BUSY_TIMEOUT_S = 10.0
READERS_MAX = 2
CACHED_STATEMENTS_MAX = 256


class Transaction:
    """What an operation works with: the connection, the statements, and the notice that goes out after the commit."""

    __slots__ = ("connection", "notice", "sql")

    def __init__(self, connection: sqlite3.Connection, sql: Mapping[str, str]) -> None:
        self.connection = connection
        self.sql = sql
        self.notice = Notice()

    def run(self, name: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        """One statement, by the name of its file."""
        return self.connection.execute(self.sql[name], parameters)

    def run_many(self, name: str, rows: Sequence[Sequence[Any]]) -> None:
        """The same statement for many rows."""
        if rows:
            self.connection.executemany(self.sql[name], rows)

    def one(self, name: str, parameters: Sequence[Any] = ()) -> Any:
        """The first row, or None."""
        return self.connection.execute(self.sql[name], parameters).fetchone()

    def all(self, name: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """All rows."""
        return self.connection.execute(self.sql[name], parameters).fetchall()


Operation = Callable[[Transaction], T]


class _Pending(Generic[T]):
    __slots__ = ("failed", "future", "operation", "result")

    def __init__(self, operation: Operation[T], future: "asyncio.Future[T]") -> None:
        self.operation = operation
        self.future = future
        self.result: T | None = None
        self.failed: Exception | None = None


class Database:
    """`write` and `read` may be called from the event loop that made it. Raises StoreError for a file that cannot be
    opened for writing."""

    def __init__(
        self,
        path: Path,
        sql: Mapping[str, str],
        *,
        group_max: int = GROUP_MAX,
        listener: Callable[[Notice], None] | None = None,
    ) -> None:
        self.path = path
        self._sql = sql
        self._group_max = group_max
        self._listener = listener or (lambda notice: None)
        self._loop = asyncio.get_running_loop()
        self._pending: list[_Pending[Any]] = []
        self._wake = threading.Condition()
        self._closing = False
        self._local = threading.local()
        self._readers = ThreadPoolExecutor(READERS_MAX, thread_name_prefix="turnline-read")
        self._reader_connections: list[sqlite3.Connection] = []
        # Opened here, where whoever opens the store hears of it; a thread that failed would leave its callers waiting.
        try:
            writer = connect(path)
        except sqlite3.Error as error:
            raise _store_error(error) from error
        self._thread = threading.Thread(target=self._work, args=(writer,), name="turnline-write", daemon=True)
        self._thread.start()

    async def write(self, operation: Operation[T]) -> T:
        """Run it in a transaction; durable on return. Raises StoreError when nothing or not surely anything was kept.

        The caller's cancellation does not stop an operation that was handed over: it still commits.
        """
        future: asyncio.Future[T] = self._loop.create_future()
        with self._wake:
            if self._closing:
                raise StoreError("the store is closed", hint="start the process again")
            self._pending.append(_Pending(operation, future))
            self._wake.notify()
        return await future

    async def read(self, query: Operation[T]) -> T:
        """Run it on a snapshot, beside the writer."""
        return await self._loop.run_in_executor(self._readers, self._read, query)

    async def close(self) -> None:
        """Finish what is pending, then close."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        # The readers first: the last connection to close folds the WAL into the file.
        await self._loop.run_in_executor(None, self._readers.shutdown)
        for connection in self._reader_connections:
            connection.close()
        await self._loop.run_in_executor(None, self._thread.join)

    def _read(self, query: Operation[T]) -> T:
        try:
            connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
            if connection is None:
                connection = connect(self.path, read_only=True)
                self._local.connection = connection
                self._reader_connections.append(connection)
            connection.execute("BEGIN")
            try:
                return query(Transaction(connection, self._sql))
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise _store_error(error) from error

    def _work(self, connection: sqlite3.Connection) -> None:
        while True:
            with self._wake:
                while not self._pending and not self._closing:
                    self._wake.wait()
                group = self._pending[: self._group_max]
                del self._pending[: self._group_max]
            if not group:
                break
            notices = self._flush(connection, group)
            self._loop.call_soon_threadsafe(self._deliver, group, notices)
        connection.close()

    def _flush(self, connection: sqlite3.Connection, group: list[_Pending[Any]]) -> list[Notice]:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            for item in group:
                item.failed = _wrapped(error)
            return []
        try:
            return [self._transact(connection, group)]
        except Exception as error:
            if len(group) == 1:
                group[0].failed = _wrapped(error)
                return []
        return [notice for item in group for notice in self._flush(connection, [item])]

    def _transact(self, connection: sqlite3.Connection, group: list[_Pending[Any]]) -> Notice:
        transaction = Transaction(connection, self._sql)
        try:
            for item in group:
                item.result = item.operation(transaction)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return transaction.notice

    def _deliver(self, group: list[_Pending[Any]], notices: list[Notice]) -> None:
        # Results first: a caller that waits for its put must not see the row run before the put returned.
        for item in group:
            if item.future.done():
                continue
            if item.failed is not None:
                item.future.set_exception(item.failed)
            else:
                item.future.set_result(item.result)
        for notice in notices:
            self._listener(notice)


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection with this project's settings. Autocommit: transactions are begun and ended by hand."""
    mode = "ro" if read_only else "rwc"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=BUSY_TIMEOUT_S,
        check_same_thread=False,
        cached_statements=CACHED_STATEMENTS_MAX,
    )
    try:
        if not read_only:
            _use_wal(connection)
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA wal_autocheckpoint=4000")
        connection.execute("PRAGMA cache_size=-65536")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Tried again ourselves: two that turn a new file to WAL at once would wait for each other, so SQLite tells one
    of them BUSY at once, without its busy timeout."""
    give_up = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > give_up:
                raise
        time.sleep(0.005)


def _wrapped(error: Exception) -> Exception:
    return _store_error(error) if isinstance(error, sqlite3.Error) else error


def _store_error(error: sqlite3.Error) -> TurnlineError:
    name = getattr(error, "sqlite_errorname", "") or type(error).__name__
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusy("the store is locked by another process", hint="try again; nothing was written")
    if name == "SQLITE_FULL":
        return StoreBusy("the disk is full", hint="free space and try again; nothing was written")
    return StoreError(f"the store could not do it ({name}: {error})", hint="`turnline doctor` checks the file")
