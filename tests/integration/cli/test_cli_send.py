"""`turnline send`: durable when it returns, once for each id, with or without a server."""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from sessionstore.inbox import SessionRef
from tests.integration.cli.conftest import Ran
from tests.integration.cli.story import KEY, opened, running
from turnline.cli.following import handled
from turnline.datafolder import DataFolder

Command = Callable[..., Ran]


def queued(turnline: Command, key: str) -> list[dict[str, object]]:
    rows = turnline("sessions", "show", key, "--json").document["session"]["queued_rows"]
    return [row["event"] for row in rows]


def test_the_event_is_durable_when_it_returns(turnline: Command) -> None:
    sent = turnline("send", "ping", "--session", KEY, "--json").document
    assert (sent["session_key"], sent["duplicate"], sent["status"]) == (KEY, False, "queued")
    (event,) = queued(turnline, KEY)
    assert (event["id"], event["data"]) == (sent["event_id"], {"text": "ping"})


def test_the_same_id_again_is_a_duplicate_and_says_where_it_went(turnline: Command) -> None:
    first = turnline("send", "ping", "--session", KEY, "--id", "x1", "--json").document
    again = turnline("send", "ping", "--session", "agent:clerk/desk:8", "--id", "x1", "--json").document
    assert again == {**first, "duplicate": True}
    assert len(queued(turnline, KEY)) == 1


def test_the_same_id_with_another_text_is_a_conflict(turnline: Command) -> None:
    turnline("send", "ping", "--session", KEY, "--id", "x1")
    ran = turnline("send", "pong", "--session", KEY, "--id", "x1", "--json")
    assert (ran.code, ran.problem["code"]) == (1, "id_conflict")


def test_without_a_session_it_goes_to_the_callers_own_session_of_the_agent(turnline: Command) -> None:
    sent = turnline("send", "ping", "--agent", "clerk", "--source", "builds", "--json").document
    assert sent["session_key"] == "agent:clerk/api:cli/source:builds"


def test_without_session_and_agent_the_default_agent_has_it(turnline: Command, tmp_path: Path) -> None:
    assert "--agent NAME or --session KEY" in turnline("send", "ping").err
    (tmp_path / "turnline.toml").write_text('[routing]\ndefault_agent = "clerk"\n')
    assert turnline("send", "ping", "--json").document["session_key"] == "agent:clerk/api:cli/source:cli"


def test_the_text_may_come_from_a_file_or_stdin(turnline: Command, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("from a file\n")
    assert turnline("send", f"@{tmp_path / 'text.txt'}", "--session", KEY).code == 0
    assert turnline("send", "-", "--session", KEY, stdin="from stdin\n").code == 0
    texts = [event["data"] for event in queued(turnline, KEY)]
    assert texts == [{"text": "from a file"}, {"text": "from stdin"}]


def test_a_file_that_is_not_there_is_told_in_a_sentence(turnline: Command) -> None:
    ran = turnline("send", "@nowhere.txt", "--session", KEY)
    assert (ran.code, ran.err.splitlines()[0]) == (1, "error: nowhere.txt cannot be read: No such file or directory")


def test_another_type_takes_a_json_object_as_its_data(turnline: Command) -> None:
    turnline("send", '{"build": 7}', "--type", "build.done", "--session", KEY)
    (event,) = queued(turnline, KEY)
    assert (event["type"], event["data"]) == ("build.done", {"build": 7})


def test_dry_run_puts_nothing(turnline: Command, tmp_path: Path, folder: Path) -> None:
    before = hashlib.sha256((folder / "turnline.sqlite").read_bytes()).hexdigest()
    ran = turnline("send", "ping", "--session", KEY, "--dry-run", "--json")
    assert ran.document["dry_run"] is True
    assert hashlib.sha256((folder / "turnline.sqlite").read_bytes()).hexdigest() == before


def test_it_makes_the_store_where_there_is_none(turnline: Command, tmp_path: Path) -> None:
    ran = turnline("send", "ping", "--session", KEY, "--data", str(tmp_path / "new"))
    assert (ran.code, (tmp_path / "new" / "turnline.sqlite").exists()) == (0, True)
    assert "No server holds this data folder" in ran.out


def test_waiting_in_vain_ends_with_1_and_still_says_what_was_sent(turnline: Command) -> None:
    ran = turnline("send", "ping", "--session", KEY, "--wait", "0", "--json")
    assert (ran.code, ran.document["handled"], ran.document["replies"]) == (1, False, [])
    assert len(queued(turnline, KEY)) == 1


async def test_waiting_gives_the_replies_of_the_very_turn(turnline: Command, folder: Path) -> None:
    async with opened(folder / "turnline.sqlite") as store, running(store):
        words = ("send", "ping", "--session", "agent:clerk/desk:7", "--id", "w1", "--wait", "30", "--json")
        ran = await asyncio.to_thread(turnline, *words)
        assert ran.code == 0
        assert (ran.document["handled"], ran.document["replies"]) == (True, ["1: ping"])
        again = await asyncio.to_thread(turnline, *words)
        assert (again.document["duplicate"], again.document["replies"]) == (True, ["1: ping"])


async def test_a_turn_that_failed_is_told_as_an_error(turnline: Command, folder: Path) -> None:
    async with opened(folder / "turnline.sqlite") as store, running(store):
        ran = await asyncio.to_thread(turnline, "send", "boom", "--session", KEY, "--wait", "30")
    assert ran.code == 1
    assert "the turn failed: RuntimeError: the clerk cannot bear it" in ran.err


async def test_a_past_event_is_found_by_source_and_id(folder: Path) -> None:
    async with opened(folder / "turnline.sqlite") as store:
        found = await handled(store.reads, SessionRef("default", KEY), "test", "4", 0)
    assert (found.replies, found.error, found.run_open, found.seq) == (("2: again",), "", False, 18)


def test_json_is_one_document_without_colours(turnline: Command) -> None:
    out = turnline("send", "ping", "--session", KEY, "--json").out
    assert "\x1b" not in out
    assert set(orjson.loads(out)) == {"event_id", "session_key", "duplicate", "status"}


@pytest.mark.parametrize(
    "words",
    [
        ("--source", "webchat:default"),
        ("--source", "cron"),
        ("--source", ""),
        ("--type", ""),
        ("--type", "cron.tick"),
        ("--id", "a\tb"),
        ("--id", "x" * 201),
    ],
    ids=" ".join,
)
def test_a_name_that_other_doors_refuse_is_refused_here_too(turnline: Command, words: tuple[str, ...]) -> None:
    ran = turnline("send", "ping", "--session", KEY, *words, "--json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.problem["hint"]
    assert queued(turnline, KEY) == []


@pytest.mark.parametrize("data", ['{"a": 123456789012345678901234567890}', '{"a": ' + "[" * 500 + "]" * 500 + "}"])
def test_data_that_could_not_be_kept_as_it_is_is_refused(turnline: Command, data: str) -> None:
    ran = turnline("send", data, "--type", "build", "--session", KEY)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: the data cannot be used")


def test_an_agent_that_the_running_server_does_not_have_is_told_at_once(turnline: Command, folder: Path) -> None:
    held = DataFolder(folder)
    held.hold(["clerk", "demo"])
    try:
        assert (
            "has no agent 'clrek' (it has clerk, demo)" in turnline("send", "ping", "--session", "agent:clrek/x:1").out
        )
        assert "no agent" not in turnline("send", "ping", "--session", "agent:clerk/x:1").out
        told = turnline("doctor").out
        assert "1 sessions with queued events belong to agents that the app does not have" in told
    finally:
        held.release()
