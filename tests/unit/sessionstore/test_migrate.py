"""Migrations: safe to run by many at once, atomic, and a file of somebody else's is left alone."""

import resource
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from sessionstore.errors import StoreError
from sessionstore.sqlite import migrate as module
from sessionstore.sqlite.database import connect
from sessionstore.sqlite.migrate import migrate, scripts


@contextmanager
def no_room() -> Iterator[None]:
    """Nothing can be written to any file; what is there can be read."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def test_a_new_file_gets_the_newest_schema(tmp_path: Path) -> None:
    newest = scripts()[-1][0]
    assert migrate(tmp_path / "deep" / "store.sqlite") == newest
    assert version(tmp_path / "deep" / "store.sqlite") == newest


def test_numbers_are_one_to_n() -> None:
    numbers = [number for number, _ in scripts()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_running_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    migrate(path)
    before = sqlite3.connect(path).execute("SELECT sql FROM sqlite_master").fetchall()
    migrate(path)
    assert sqlite3.connect(path).execute("SELECT sql FROM sqlite_master").fetchall() == before


@pytest.mark.parametrize("round_", range(4))
def test_sixteen_at_once_on_a_new_file_all_succeed(tmp_path: Path, round_: int) -> None:
    path = tmp_path / "store.sqlite"
    with ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda _: migrate(path), range(16))) == {scripts()[-1][0]}


def test_processes_at_once_on_a_new_file_all_succeed(tmp_path: Path) -> None:
    code = "import sys, pathlib; from sessionstore.sqlite.migrate import migrate; migrate(pathlib.Path(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tmp_path / "store.sqlite")]
    started = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(4)]
    assert [(p.communicate(timeout=30)[1], p.returncode) for p in started] == [(b"", 0)] * 4


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    migrate(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(StoreError, match="999"):
        migrate(path)
    assert version(path) == 999


def test_what_is_no_database_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"these are my notes, and there are many of them\n" * 100)
    with pytest.raises(StoreError, match=r"notes\.txt"):
        migrate(path)
    assert path.read_bytes().startswith(b"these are my notes")


def test_a_folder_in_the_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(StoreError, match=r"store\.sqlite"):
        migrate(tmp_path / "store.sqlite")


def test_a_migration_that_breaks_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite"
    migrate(path)
    broken = (scripts()[-1][0] + 1, "CREATE TABLE extra (n INTEGER);\nCREATE TABLE session (n INTEGER);\n")
    known = scripts()
    monkeypatch.setattr(module, "scripts", lambda: [*known, broken])
    with pytest.raises(StoreError):
        migrate(path)
    assert version(path) == broken[0] - 1
    tables = sqlite3.connect(path).execute("SELECT name FROM sqlite_master WHERE name = 'extra'").fetchall()
    assert tables == []


def test_a_file_that_is_up_to_date_is_opened_without_writing(tmp_path: Path) -> None:
    """So that one can look into a store on a full disk, or while another process holds the write lock for long."""
    path = tmp_path / "store.sqlite"
    migrate(path)
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        with no_room():
            assert migrate(path) == scripts()[-1][0]
    finally:
        writer.close()


def test_a_disk_without_room_is_told_as_that(tmp_path: Path) -> None:
    with no_room(), pytest.raises(StoreError) as told:
        migrate(tmp_path / "store.sqlite")
    assert "damaged" not in told.value.hint
    assert "space" in told.value.hint


def test_a_file_that_may_not_be_written_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.sqlite"
    sqlite3.connect(path).execute("PRAGMA journal_mode=WAL").connection.close()
    monkeypatch.setattr(module, "connect", lambda path: connect(path, read_only=True))
    with pytest.raises(StoreError, match="read-only") as told:
        migrate(path)
    assert "right to write" in told.value.hint


def test_another_program_s_file_is_told_as_that(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="cannot be opened as a store") as told:
        migrate(path)
    assert "another program" in told.value.hint


def test_a_migration_that_does_not_fit_the_file_is_told_with_its_own_reason(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    sqlite3.connect(path).execute("CREATE TABLE session (x)").connection.close()
    with pytest.raises(StoreError, match="already exists"):
        migrate(path)


def test_a_folder_that_is_made_for_it_is_for_its_owner_alone(tmp_path: Path) -> None:
    migrate(tmp_path / "data" / "store.sqlite")
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
