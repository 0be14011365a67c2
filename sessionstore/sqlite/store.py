"""The embedded store: all seams on one SQLite file."""

from collections.abc import Callable, Mapping
from pathlib import Path

from sessionstore.clock import Clock
from sessionstore.notice import Listener, Notice
from sessionstore.sqlite.commits import SqliteCommits
from sessionstore.sqlite.cron import SqliteCron
from sessionstore.sqlite.database import GROUP_MAX, Database, Transaction
from sessionstore.sqlite.inbox import SqliteInbox
from sessionstore.sqlite.interventions import SqliteInterventions
from sessionstore.sqlite.leases import SqliteLeases
from sessionstore.sqlite.migrate import migrate
from sessionstore.sqlite.operations import SqliteOperations
from sessionstore.sqlite.outbox import SqliteOutbox, sweep
from sessionstore.sqlite.reads import SqliteReads
from sessionstore.sqlite.waits import SqliteWaits
from sessionstore.statements import load_statements

SQL_PACKAGE = "sessionstore.sqlite.sql"


class SqliteStore:
    """One file, several processes at most on one machine; the seams are its attributes."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        group_max: int = GROUP_MAX,
        make_database: Callable[[Path, Mapping[str, str], Listener], Database] | None = None,
    ) -> None:
        migrate(path)
        self.path = path
        self.clock = clock
        self._listeners: list[Listener] = []
        statements = load_statements(SQL_PACKAGE)
        if make_database is None:
            self._db = Database(path, statements, group_max=group_max, listener=self._tell)
        else:
            self._db = make_database(path, statements, self._tell)
        self.inbox = SqliteInbox(self._db, clock)
        self.commits = SqliteCommits(self._db, clock)
        self.leases = SqliteLeases(self._db, clock)
        self.outbox = SqliteOutbox(self._db, clock)
        self.waits = SqliteWaits(self._db, clock)
        self.cron = SqliteCron(self._db, clock)
        self.reads = SqliteReads(self._db, clock)
        self.operations = SqliteOperations(self._db, clock)
        self.interventions = SqliteInterventions(self._db, clock)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Be told, in this process, what each transaction changed; returns the way to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def adopt(self) -> None:
        """Declare all former owners dead: their leases are free and their unfinished sends unknown.

        Only for a process that holds the data folder's lock, so that no other can be running.
        """
        now = self.clock.now()

        def operation(tx: Transaction) -> None:
            tx.run("session_adopt")
            tx.run("outbox_adopt")
            sweep(tx, now)

        await self._db.write(operation)

    async def close(self) -> None:
        """Finish pending writes and close the file."""
        await self._db.close()

    def _tell(self, notice: Notice) -> None:
        for listener in tuple(self._listeners):
            listener(notice)
