"""A database without threads, that can be slow, and die at a chosen transaction."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from contextvars import copy_context
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from sessionstore.errors import StoreError
from sessionstore.notice import Listener, Notice
from sessionstore.sqlite.database import Database, Operation, Transaction, connect
from turnline.testing.life import Died

T = TypeVar("T")

Latency = Callable[[], float]
Trouble = Callable[[], Exception | None]


class Side(StrEnum):
    """Where, relative to a transaction, the process dies."""

    BEFORE = "before"  # nothing of it was kept
    AFTER = "after"  # it is durable, and nobody was told


class Fuse:
    """Counts transactions that change something, and dies at the chosen one. `at` is None for a life without end."""

    def __init__(self, at: int | None = None, side: Side = Side.BEFORE) -> None:
        self.at = at
        self.side = side
        self.count = 0
        self.blown = asyncio.Event()

    def check(self) -> None:
        """Raises Died once it has blown."""
        if self.blown.is_set():
            raise Died

    def pass_(self, side: Side) -> None:
        """Called on both sides of each such transaction. Raises Died."""
        if side is Side.BEFORE:
            self.count += 1
        if self.count == self.at and side is self.side:
            self.blown.set()
            raise Died


class _Pending:
    __slots__ = ("failed", "future", "operation", "result")

    def __init__(self, operation: Operation[Any], future: "asyncio.Future[Any]") -> None:
        self.operation = operation
        self.future = future
        self.result: Any = None
        self.failed: Exception | None = None


class InlineDatabase(Database):
    """Does what `Database` does, on the event loop's thread: in order, what came meanwhile as the next group.

    `latency` gives the seconds that pass before and after each transaction, and before each read; without it none do.
    `trouble` is asked on both sides of each transaction: an error before it means that nothing was written, one after
    it that all was, and nobody is told so.
    """

    def __init__(
        self,
        path: Path,
        sql: Mapping[str, str],
        listener: Listener,
        fuse: Fuse,
        *,
        latency: Latency | None = None,
        trouble: Trouble | None = None,
        group_max: int = 1,
    ) -> None:
        # Nothing of the threaded form is set up: this one only shares its interface.
        self.path = path
        self._sql = sql
        self._listener = listener
        self._fuse = fuse
        self._latency = latency or (lambda: 0.0)
        self._trouble = trouble or (lambda: None)
        self._group_max = group_max
        self._queue: list[_Pending] = []
        self._writer: asyncio.Task[None] | None = None
        self._context = copy_context()  # the writer is the process's own, whoever calls
        self._connection = connect(path)
        self._connection.execute("PRAGMA synchronous=OFF")  # the process dies here, never the machine

    async def write(self, operation: Operation[T]) -> T:
        """See `Database.write`."""
        self._fuse.check()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.append(_Pending(operation, future))
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write(), context=self._context)
        return await future

    async def read(self, query: Operation[T]) -> T:
        """See `Database.read`."""
        await asyncio.sleep(self._latency())
        self._fuse.check()
        return query(Transaction(self._connection, self._sql))

    async def close(self) -> None:
        """See `Database.close`; a dead process finishes nothing."""
        if self._writer is not None and not self._fuse.blown.is_set():
            await asyncio.wait([self._writer])
        self._connection.close()

    async def _write(self) -> None:
        group: list[_Pending] = []
        try:
            while self._queue:
                await asyncio.sleep(self._latency())
                group, self._queue = self._queue[: self._group_max], self._queue[self._group_max :]
                notices = [] if self._fails(group) else self._flush_inline(group)
                if self._fails(group):
                    notices = []
                await asyncio.sleep(self._latency())
                self._fuse.check()
                self._hand_out(group, notices)
        except (Died, asyncio.CancelledError):
            self._fuse.blown.set()
            for item in (*group, *self._queue):
                if not item.future.done():
                    item.future.set_exception(Died())
            self._queue.clear()
        finally:
            self._writer = None

    def _fails(self, group: list[_Pending]) -> bool:
        error = self._trouble()
        if error is not None:
            for item in group:
                item.failed = error
        return error is not None

    def _hand_out(self, group: list[_Pending], notices: list[Notice]) -> None:
        for item in group:
            if item.future.done():
                continue
            if item.failed is not None:
                item.future.set_exception(item.failed)
            else:
                item.future.set_result(item.result)
        for notice in notices:
            self._listener(notice)

    def _flush_inline(self, group: list[_Pending]) -> list[Notice]:
        """The group in one transaction, or each in its own when one of them fails."""
        self._fuse.check()
        try:
            return [self._transact_inline(group)]
        except Died:
            raise
        except Exception as error:
            if len(group) == 1:
                known = not isinstance(error, sqlite3.Error)
                group[0].failed = error if known else StoreError(f"the store could not do it: {error}")
                return []
        return [notice for item in group for notice in self._flush_inline([item])]

    def _transact_inline(self, group: list[_Pending]) -> Notice:
        transaction = Transaction(self._connection, self._sql)
        self._connection.execute("BEGIN IMMEDIATE")
        changes = self._connection.total_changes
        try:
            for item in group:
                item.result = item.operation(transaction)
            changed = self._connection.total_changes != changes
            if changed:
                self._fuse.pass_(Side.BEFORE)
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        if changed:
            self._fuse.pass_(Side.AFTER)
        return transaction.notice
