"""A witness: triggers in the store's file write down every change of state, whoever made it; nobody can take it back.

It judges nothing while the world runs. The notes are part of the transactions that they tell of, so what was rolled
back was never seen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from sessionstore.commit import CommitResult, Committed, RecordCommit, TurnCommit
from sessionstore.leases import Lease
from sessionstore.sqlite.commits import SqliteCommits
from sessionstore.sqlite.database import Database, Operation, Transaction, connect
from sessionstore.sqlite.store import SqliteStore

TABLE = """
CREATE TABLE IF NOT EXISTS witness (
    id INTEGER PRIMARY KEY, what TEXT, key TEXT, was TEXT, now TEXT, more TEXT
)
"""

TRIGGERS = (
    """
    CREATE TRIGGER IF NOT EXISTS witness_effect AFTER UPDATE OF state ON outbox BEGIN
        INSERT INTO witness (what, key, was, now, more)
        VALUES ('effect', new.effect_id, old.state, new.state, new.attempts);
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS witness_inbox AFTER UPDATE OF status ON inbox BEGIN
        INSERT INTO witness (what, key, was, now, more)
        VALUES ('row', old.pos, old.status, new.status, new.pos);
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS witness_wait AFTER UPDATE OF status ON wait BEGIN
        INSERT INTO witness (what, key, was, now, more)
        VALUES ('wait', new.wait_id, old.status, new.status, new.answered_by);
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS witness_head AFTER UPDATE OF version ON session BEGIN
        INSERT INTO witness (what, key, was, now, more)
        VALUES ('version', new.tenant || '/' || new.session, old.version, new.version, new.fence);
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS witness_fence AFTER UPDATE OF fence ON session BEGIN
        INSERT INTO witness (what, key, was, now, more)
        VALUES ('fence', new.tenant || '/' || new.session, old.fence, new.fence, '');
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS witness_step AFTER INSERT ON step BEGIN
        INSERT INTO witness (what, key, was, now, more)
        VALUES ('step', new.turn_id || '/' || new.key, '', new.result, new.args_hash);
    END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS witness_step_again AFTER UPDATE ON step BEGIN
        INSERT INTO witness (what, key, was, now, more)
        VALUES ('step', new.turn_id || '/' || new.key, old.result, new.result, new.args_hash);
    END
    """,
)

NOTE = "INSERT INTO witness (what, key, was, now, more) VALUES (?, ?, ?, ?, ?)"
GUARD = "SELECT owner, fence FROM session WHERE tenant = ? AND session = ?"
EFFECT = "SELECT state, attempts, binds, expires_at FROM outbox WHERE effect_id = ?"


@dataclass(frozen=True, slots=True)
class Note:
    """One change: of what, which one, from what to what."""

    what: str
    key: str
    was: str
    now: str
    more: str


class Witness:
    """A connection of its own to the file, outside of all lives."""

    def __init__(self, file: Path) -> None:
        self.connection = connect(file)
        self.connection.execute("PRAGMA synchronous=OFF")
        for statement in (TABLE, *TRIGGERS):
            self.connection.execute(statement)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Rows as dicts."""
        cursor = self.connection.execute(query, parameters)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def effect(self, effect_id: str) -> Mapping[str, Any] | None:
        """What an outbox row says about its sending right now."""
        found = self.rows(EFFECT, (effect_id,))
        if not found:
            return None
        found[0]["binds"] = orjson.loads(found[0]["binds"]) if found[0]["binds"] else {}
        return found[0]

    def notes(self) -> list[Note]:
        """All of them, in order."""
        query = "SELECT what, key, was, now, more FROM witness ORDER BY id"
        return [Note(*map(str, row)) for row in self.connection.execute(query)]

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def watch(store: SqliteStore) -> None:
    """Have each commit of this store noted with the fence that it was made under and the one that held."""
    store.commits = WatchedCommits(_database_of(store), store.clock)


class WatchedCommits(SqliteCommits):
    """The store's commits; beside each accepted one it is noted whose it was and whose it should have been."""

    async def commit(self, batch: Sequence[TurnCommit]) -> list[CommitResult]:
        """See `SessionStore.commit`."""

        def note(tx: Transaction, results: list[CommitResult]) -> None:
            for turn, result in zip(batch, results, strict=True):
                if isinstance(result, Committed):
                    _note(tx, "commit", turn.lease)

        return await SqliteCommits(_Noting(self._db, note), self._clock).commit(batch)

    async def record(self, batch: Sequence[RecordCommit]) -> list[bool]:
        """See `SessionStore.record`."""

        def note(tx: Transaction, results: list[bool]) -> None:
            for item, kept in zip(batch, results, strict=True):
                if kept:
                    _note(tx, "record", item.lease)

        return await SqliteCommits(_Noting(self._db, note), self._clock).record(batch)


class _Noting(Database):
    """A database that tells of each operation's result inside its transaction."""

    def __init__(self, database: Database, note: Callable[[Transaction, Any], None]) -> None:
        self._database = database
        self._note = note

    async def write(self, operation: Operation[Any]) -> Any:
        """See `Database.write`."""

        def noted(tx: Transaction) -> Any:
            result = operation(tx)
            self._note(tx, result)
            return result

        return await self._database.write(noted)


def _note(tx: Transaction, what: str, lease: Lease) -> None:
    key = (lease.ref.tenant, lease.ref.session)
    owner, fence = tx.connection.execute(GUARD, key).fetchone()
    claimed, held = f"{lease.fence} {lease.nonce}", f"{fence} {owner}"
    tx.connection.execute(NOTE, (what, "/".join(key), claimed, held, ""))


def _database_of(store: SqliteStore) -> Database:
    return store._db
