"""The entry: help, wrong calls, where the store is, and readers that go away."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from tests.integration.cli.conftest import Ran
from turnline.cli.main import app
from turnline.cli.registry import ENTRIES

ROOT = Path(__file__).parents[3]


def called(*words: str, cwd: Path) -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "turnline.cli.main", *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, timeout=60)


def test_as_a_process_it_lists_every_command(tmp_path: Path) -> None:
    ran = called("--help", cwd=tmp_path)
    assert ran.returncode == 0
    assert all(entry.name in ran.stdout.decode() for entry in ENTRIES)


def test_as_a_process_an_error_is_one_sentence_and_no_traceback(tmp_path: Path) -> None:
    ran = called("sessions", "list", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.decode().splitlines()[0] == "error: there is no store at .turnline/turnline.sqlite"
    assert len(ran.stderr.splitlines()) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error_to_speak_of(folder: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "turnline.cli.main", "--data", str(folder), "sessions", "list", "--json"]
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run(command, cwd=tmp_path, env=environment, stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert ran.stderr == b""


@pytest.mark.parametrize("entry", list(ENTRIES), ids=lambda entry: entry.name)
def test_each_command_explains_itself(entry: object) -> None:
    name = getattr(entry, "name")  # noqa: B009
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert "--json" in result.stdout or "Commands" in result.stdout or name == "dev"


def test_a_wrong_call_exits_with_2(turnline: Callable[..., Ran]) -> None:
    assert turnline("sessions", "lits").code == 2
    assert "Did you mean 'sessions'" in turnline("sesions").err
    ran = turnline("sessions", "list", "--limit", "many", "--json")
    assert (ran.code, ran.out, ran.problem["code"]) == (2, "", "usage")


def test_the_place_may_be_said_after_the_command_and_then_wins(folder: Path, tmp_path: Path) -> None:
    words = ["--data", str(tmp_path / "nowhere"), "sessions", "list", "--data", str(folder), "--json"]
    assert len(orjson.loads(CliRunner().invoke(app, words).stdout)["sessions"]) == 2


def test_a_folder_given_as_an_option_wins_over_a_store_of_the_environment(
    turnline: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLINE_STORE", "sqlite:////nowhere/x.sqlite")
    assert turnline("sessions", "list").code == 0


def test_the_environment_says_where_the_store_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLINE_STORE", f"sqlite:///{folder}/turnline.sqlite")
    assert len(orjson.loads(CliRunner().invoke(app, ["sessions", "list", "--json"]).stdout)["sessions"]) == 2


def test_a_store_that_cannot_be_opened_is_told_without_a_traceback(folder: Path, turnline: Callable[..., Ran]) -> None:
    (folder / "file").write_text("in the way")
    ran = turnline("send", "x", "--session", "agent:a/b:1", "--store", f"sqlite:///{folder}/file/s.sqlite", "--json")
    assert (ran.code, ran.out, ran.problem["code"]) == (1, "", "store_error")


@pytest.mark.parametrize(
    "words",
    [("send", "{}", "-s", "agent:a/b:c"), ("sessions", "list", "-q", "{}"), ("sessions", "list", "--tenant", "{}")],
)
def test_bytes_that_are_no_text_are_told_and_not_a_traceback(tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = called(*(word.format("\udcff") for word in words), cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.decode().splitlines()[0] == "error: '\\udcff' is not UTF-8"
    assert orjson.loads(called(*(word.format("\udcff") for word in words), "--json", cwd=tmp_path).stderr)["hint"]
