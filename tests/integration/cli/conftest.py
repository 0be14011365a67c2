"""A store with a past for each test, made once and copied; and the commands, run in this process."""

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from tests.integration.cli.story import PAPER, fill, message
from turnline.cli.main import app


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return orjson.loads(self.out)

    @property
    def problem(self) -> Any:
        """The problem object on stderr."""
        return orjson.loads(self.err)


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TURNLINE_STORE", "TURNLINE_DATA", "TURNLINE_CONFIG", "TURNLINE_APP", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions: one has counted, asked and failed, with two effects that nothing carries out."""
    path = tmp_path_factory.mktemp("past") / "turnline.sqlite"
    fill(
        path,
        message("hello", "1", route=PAPER),
        message("deploy", "2"),
        message("boom", "3"),
        message("again", "4", route=PAPER),
        message("hi", "1", key="agent:clerk/desk:2", tenant="acme"),
    )
    sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()  # so that one file is all
    return path


@pytest.fixture
def folder(past: Path, tmp_path: Path) -> Path:
    """A data folder with a copy of that store."""
    data = tmp_path / "data"
    data.mkdir()
    shutil.copy(past, data / "turnline.sqlite")
    return data


@pytest.fixture
def plant(folder: Path) -> Callable[..., int]:
    """Change the file behind the store's back; returns how many rows."""

    def planted(statement: str, *parameters: Any) -> int:
        connection = sqlite3.connect(folder / "turnline.sqlite")
        try:
            with connection:
                return connection.execute(statement, parameters).rowcount
        finally:
            connection.close()

    return planted


@pytest.fixture
def turnline(folder: Path) -> Callable[..., Ran]:
    """Run a command on that folder."""

    def run(*words: str, stdin: str | None = None) -> Ran:
        result = CliRunner().invoke(app, ["--data", str(folder), *words], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout, result.stderr)

    return run
