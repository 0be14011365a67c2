"""Migrations: numbered, each in one transaction under the write lock, so that many processes may start at once."""

import sqlite3
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from sessionstore.errors import StoreError
from sessionstore.sqlite.database import connect

PACKAGE = "sessionstore.sqlite.migrations"


def scripts() -> list[tuple[int, str]]:
    """All migrations as (number, text), in order."""
    found = [e for e in files(PACKAGE).iterdir() if e.name.endswith(".sql")]
    return sorted((int(e.name.split("_", 1)[0]), e.read_text(encoding="utf-8")) for e in found)


def migrate(path: Path) -> int:
    """Bring the file to the newest schema; returns its number. Raises StoreError for a file that is newer than we."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(connect(path)) as connection:
            return _apply(connection)
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{path} cannot be opened as a store: {error}",
            hint="is it another program's file, or damaged? `turnline doctor` checks it",
        ) from error


def _apply(connection: sqlite3.Connection) -> int:
    newest = scripts()[-1][0]
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if version > newest:
            raise StoreError(
                f"the store's schema is {version}, this version knows {newest}",
                hint="install the newer turnline that wrote it",
            )
        for number, text in scripts():
            if number > version:
                for statement in _statements(text):
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {newest}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return newest


def _statements(text: str) -> list[str]:
    """Split a script; executescript would commit the transaction that makes it atomic."""
    out, current = [], ""
    for line in text.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            out.append(current)
            current = ""
    return out
