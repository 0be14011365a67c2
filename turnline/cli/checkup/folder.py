"""The data folder and the store's file: who holds it, whether it is whole, and whether there is room."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from sessionstore.sqlite.database import connect
from sessionstore.sqlite.migrate import scripts
from turnline.cli.checkup.finding import Finding, attention, note, ok
from turnline.datafolder import lock_holder

FREE_BYTES_MIN: Final = 512 * 1024 * 1024
WAL_BYTES_MAX: Final = 1024 * 1024 * 1024
PROBLEMS_SHOWN_MAX: Final = 3
SYNCHRONOUS: Final = ("OFF", "NORMAL", "FULL", "EXTRA")
RESTORE: Final = "stop the server, keep the file aside, and restore it from a backup"


def folder(data: Path) -> Iterator[Finding]:
    """The data folder: there, writable, and held by which process."""
    if not data.is_dir():
        yield note("data folder", f"{data.absolute()} is not there yet", "`turnline dev` makes it")
        return
    if not os.access(data, os.W_OK):
        yield attention("data folder", f"{data.absolute()} cannot be written", "give its user the right to write")
    else:
        yield ok("data folder", str(data.absolute()))
    holder = lock_holder(data)
    yield ok("server", f"runs as process {holder.pid}") if holder else note("server", "none holds this data folder")


def disk(path: Path) -> Finding:
    """Room for the store to grow."""
    place = next(parent for parent in path.absolute().parents if parent.exists())
    free = shutil.disk_usage(place).free
    says = f"{free / 2**30:.1f} GiB free at {place}"
    return (
        ok("disk", says)
        if free >= FREE_BYTES_MIN
        else attention("disk", says, "free some space; a full disk stops all")
    )


def store_file(path: Path) -> Iterator[Finding]:
    """The file: size, schema, settings and integrity. Writes nothing."""
    if not path.is_file():
        yield note("store", f"there is none at {path.absolute()}", "`turnline dev` or `turnline send` makes it")
        return
    yield ok("store", f"{path.absolute()}, {path.stat().st_size / 2**20:.1f} MiB")
    yield from _wal(path)
    try:
        with closing(connect(path, read_only=True)) as connection:
            yield from _schema(connection)
            yield from _integrity(connection)
            yield _journal(connection)
        with closing(connect(path)) as connection:
            yield _synchronous(connection)
    except sqlite3.Error as error:
        yield attention("integrity", f"the file cannot be read as a store: {error}", RESTORE)


def whole(findings: list[Finding]) -> bool:
    """Whether the file is good enough to be opened."""
    return not any(f.level == "attention" and f.name in ("integrity", "schema") for f in findings)


def _wal(path: Path) -> Iterator[Finding]:
    wal = path.with_name(f"{path.name}-wal")
    size = wal.stat().st_size if wal.is_file() else 0
    if size > WAL_BYTES_MAX:
        yield attention("write-ahead log", f"{size / 2**30:.1f} GiB", "end the reader that keeps a transaction open")


def _schema(connection: sqlite3.Connection) -> Iterator[Finding]:
    version, newest = int(connection.execute("PRAGMA user_version").fetchone()[0]), scripts()[-1][0]
    if version > newest:
        yield attention("schema", f"{version}; this version knows {newest}", "install the newer turnline that wrote it")
    elif version < newest:
        yield note("schema", f"{version} of {newest}", "the next command that opens the store brings it up")
    else:
        yield ok("schema", f"version {version}")


def _integrity(connection: sqlite3.Connection) -> Iterator[Finding]:
    said = [row[0] for row in connection.execute("PRAGMA quick_check").fetchmany(PROBLEMS_SHOWN_MAX)]
    if said == ["ok"]:
        yield ok("integrity", "quick_check found nothing")
    else:
        yield attention("integrity", "; ".join(said), RESTORE)


def _journal(connection: sqlite3.Connection) -> Finding:
    mode = str(connection.execute("PRAGMA journal_mode").fetchone()[0])
    if mode == "wal":
        return ok("journal", "WAL")
    return attention(
        "journal", f"{mode}, not WAL", "another program changed it; the next command that opens it repairs it"
    )


def _synchronous(connection: sqlite3.Connection) -> Finding:
    level = int(connection.execute("PRAGMA synchronous").fetchone()[0])
    if level >= SYNCHRONOUS.index("FULL"):
        return ok("synchronous", f"{SYNCHRONOUS[level]}: what is committed survives a loss of power")
    return attention("synchronous", SYNCHRONOUS[level], "install turnline again; it opens the file with FULL")
