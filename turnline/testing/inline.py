"""A database without threads, that can die at a chosen transaction."""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from sessionstore.notice import Listener
from sessionstore.sqlite.database import Database, Operation, Transaction, connect

T = TypeVar("T")


class Side(StrEnum):
    """Where, relative to a transaction, the process dies."""

    BEFORE = "before"  # nothing of it was kept
    AFTER = "after"  # it is durable, and nobody was told


class Died(Exception):
    """The process is dead: nothing more is read, written or sent."""


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


class InlineDatabase(Database):
    """Runs each operation at once, in a transaction of its own, on the event loop's thread."""

    def __init__(self, path: Path, sql: Mapping[str, str], listener: Listener, fuse: Fuse) -> None:
        # Nothing of the threaded form is set up: this one only shares its interface.
        self.path = path
        self._sql = sql
        self._listener = listener
        self._fuse = fuse
        self._connection = connect(path)
        self._connection.execute("PRAGMA synchronous=OFF")  # the process dies here, never the machine

    async def write(self, operation: Operation[T]) -> T:
        """See `Database.write`."""
        await asyncio.sleep(0)
        self._fuse.check()
        transaction = Transaction(self._connection, self._sql)
        self._connection.execute("BEGIN IMMEDIATE")
        changes = self._connection.total_changes
        try:
            result = operation(transaction)
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
        asyncio.get_running_loop().call_soon(self._tell, transaction)
        return result

    async def read(self, query: Operation[T]) -> T:
        """See `Database.read`."""
        await asyncio.sleep(0)
        self._fuse.check()
        return query(Transaction(self._connection, self._sql))

    async def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _tell(self, transaction: Transaction) -> None:
        if not self._fuse.blown.is_set():
            self._listener(transaction.notice)
