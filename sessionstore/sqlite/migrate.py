"""Migrations: numbered, each in one transaction under the write lock, so that many processes may start at once."""

import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from sessionstore.errors import StoreBusy, StoreError
from sessionstore.sqlite.database import connect

PACKAGE = "sessionstore.sqlite.migrations"


def scripts() -> list[tuple[int, str]]:
    """All migrations as (number, text), in order."""
    found = [e for e in files(PACKAGE).iterdir() if e.name.endswith(".sql")]
    return sorted((int(e.name.split("_", 1)[0]), e.read_text(encoding="utf-8")) for e in found)


def migrate(path: Path) -> int:
    """Bring the file to the newest schema; returns its number. One that has it is not written to.

    Raises StoreError for a file that is newer than we, or that cannot be read or written, with the reason.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with closing(connect(path)) as connection:
            return _migrated(connection)
    except sqlite3.DatabaseError as error:
        raise _told(path, error) from error


def _migrated(connection: sqlite3.Connection) -> int:
    newest = scripts()[-1][0]
    if _version(connection, newest) < newest:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _apply(connection, newest)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # some errors have ended it, and theirs is the reason to tell
                connection.execute("ROLLBACK")
            raise
    return newest


def _version(connection: sqlite3.Connection, newest: int) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > newest:
        raise StoreError(
            f"the store's schema is {version}, this version knows {newest}",
            hint="install the newer turnline that wrote it",
        )
    return version


def _apply(connection: sqlite3.Connection, newest: int) -> None:
    version = _version(connection, newest)  # again, now that nobody else can be at it
    for number, text in scripts():
        if number > version:
            for statement in _statements(text):
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {newest}")


def _told(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith("SQLITE_READONLY"):
        return StoreError(
            f"{path} or its folder is read-only for this user: {error}",
            hint="give this user the right to write there, or copy file and -wal elsewhere to look into them",
        )
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return StoreError(
            f"the disk under {path} does not take it: {error}", hint="free some space; if there is, look at the disk"
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusy(f"{path} is locked by another process", hint="try again; nothing was written")
    return StoreError(
        f"{path} cannot be opened as a store: {error}",
        hint="is it another program's file, or damaged? `turnline doctor` checks it",
    )


def _statements(text: str) -> list[str]:
    """Split a script; executescript would commit the transaction that makes it atomic."""
    out, current = [], ""
    for line in text.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            out.append(current)
            current = ""
    return out
