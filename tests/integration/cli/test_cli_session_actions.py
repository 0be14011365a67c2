"""`turnline sessions pause|edit|rewind|...`: what is done, what is only shown, and what is refused."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.conftest import Ran
from tests.integration.cli.story import KEY, REF, opened

Command = Callable[..., Ran]


def shown(turnline: Command, key: str = KEY) -> dict[str, Any]:
    return dict(turnline("sessions", "show", key, "--json").document["session"])


def trail(folder: Path) -> list[tuple[str, str]]:
    async def work() -> list[tuple[str, str]]:
        async with opened(folder / "turnline.sqlite") as store:
            return [(line["actor"], line["action"]) for line in await store.reads.trail()]

    return asyncio.run(work())


def checkpoints(turnline: Command) -> list[int]:
    found = turnline("sessions", "show", KEY, "--checkpoints", "--json").document["checkpoints"]
    return [line["seq"] for line in found]


@pytest.mark.parametrize(
    ("action", "status"),
    [("pause", "paused"), ("kill", "failed"), ("archive", "archived"), ("reset", "active"), ("resume", "waiting")],
)
def test_an_action_is_done_once_and_leaves_a_trail(turnline: Command, folder: Path, action: str, status: str) -> None:
    dry = turnline("sessions", action, KEY, "--dry-run", "--json")
    assert (dry.code, dry.document["dry_run"]) == (0, True)
    assert shown(turnline)["status"] == "waiting"
    done = turnline("sessions", action, KEY, "--by", "ann", "--reason", "a test", "--json")
    assert (done.code, done.document["action"], done.document["session_key"]) == (0, action, KEY)
    assert shown(turnline)["status"] == status
    assert ("ann", f"session.{action}") in trail(folder)
    assert f"{action} by ann: a test" in turnline("sessions", "tail", KEY).out


def test_what_cannot_be_done_says_what_to_do_instead(turnline: Command) -> None:
    refused = turnline("sessions", "unpause", KEY, "--json")
    assert (refused.code, refused.problem["code"]) == (1, "conflict")
    assert turnline("sessions", "pause", "agent:clerk/desk:none", "--json").problem["code"] == "not_found"
    turnline("sessions", "archive", KEY)
    assert "fork it" in turnline("sessions", "pause", KEY, "--json").problem["hint"]


def test_an_edit_changes_the_state_by_compare_and_set(turnline: Command) -> None:
    before = shown(turnline)
    assert turnline("sessions", "edit", KEY, "--set", "/count=40", "--set", '/words/0="hi"', "--json").code == 0
    state = shown(turnline)["record"]["state"]
    assert (state["count"], state["words"][0]) == (40, "hi")
    late = turnline("sessions", "edit", KEY, "--set", "/count=1", "--expect", str(before["version"]), "--json")
    assert (late.code, late.problem["code"]) == (1, "conflict")
    for wrong in (("--set", "/count"), ("--set", "/count=x"), ("--set", "/no/such=1"), ()):
        assert turnline("sessions", "edit", KEY, *wrong, "--json").problem["code"] == "bad_input"
    assert shown(turnline)["record"]["state"] == state


def test_a_rewind_is_shown_before_it_is_done(turnline: Command) -> None:
    first = checkpoints(turnline)[0]
    out = turnline("sessions", "rewind", KEY, "--to", str(first), "--dry-run").out
    for said in ("dry run", "had read", "deploy", "withdrawn"):
        assert said in out
    assert shown(turnline)["record"]["state"]["count"] == 2
    assert turnline("sessions", "rewind", KEY, "--to", str(first)).code == 0
    assert shown(turnline)["record"]["state"] == {"count": 1, "words": ["hello"]}
    assert turnline("sessions", "rewind", KEY, "--to", str(first + 1), "--json").problem["code"] == "bad_input"
    assert turnline("verify", KEY).code == 0


def test_a_fork_is_a_session_of_its_own(turnline: Command) -> None:
    first, other = checkpoints(turnline)[0], "agent:clerk/desk:fork"
    assert turnline("sessions", "fork", KEY, "--at", str(first), "--as", other).code == 0
    assert shown(turnline, other)["record"]["state"]["words"] == ["hello"]
    assert shown(turnline)["record"]["state"]["count"] == 2
    again = turnline("sessions", "fork", KEY, "--at", str(first), "--as", other, "--json")
    assert again.problem["code"] == "conflict"
    assert (
        turnline("sessions", "fork", KEY, "--at", str(first), "--as", "no key", "--json").problem["code"] == "bad_key"
    )
    assert turnline("audit").code == 0


def test_a_person_takes_over_says_something_and_hands_back(turnline: Command, folder: Path) -> None:
    async def replies() -> list[str]:
        async with opened(folder / "turnline.sqlite") as store:
            rows = await store.reads.transcript(REF, limit=1_000)
            return [row["body"]["text"] for row in rows if row["type"] == "message.out"]

    assert turnline("sessions", "takeover", KEY, "--by", "ann").code == 0
    assert turnline("sessions", "takeover", KEY, "--by", "bob", "--json").problem["code"] == "conflict"
    assert turnline("sessions", "say", KEY, "Ann here", "--by", "ann").code == 0
    assert turnline("sessions", "handback", KEY, "--by", "ann").code == 0
    assert asyncio.run(replies())[-1] == "Ann here"
    assert turnline("audit").code == 0


def test_a_replay_shows_what_newer_code_decides_differently(turnline: Command, tmp_path: Path) -> None:
    newer = tmp_path / "newer_clerk.py"
    newer.write_text(
        "from tests.integration.cli.story import clerk\n"
        "from turnline import App\n"
        "agent = clerk()\n"
        "app = App(agents=[agent])\n"
    )
    first = str(checkpoints(turnline)[0])
    same = turnline("sessions", "replay", KEY, "--from", first, "--app", str(newer), "--json")
    assert (same.code, same.document["same"]) == (0, True)
    newer.with_name("rude_clerk.py").write_text(
        newer.read_text() + "agent.handlers['message'] = lambda turn: turn.reply('no')\n"
    )
    ran = turnline("sessions", "replay", KEY, "--from", first, "--app", str(newer.with_name("rude_clerk.py")))
    assert ran.code == 1
    for said in ("decided differently", "- ask Deploy 2.1?", "+ reply no", "- reply 2: again"):
        assert said in ran.out
    assert turnline("sessions", "replay", KEY, "--from", first, "--json").problem["code"] == "bad_settings"
    wrong = turnline("sessions", "replay", KEY, "--from", first, "--app", str(newer), "--stub", "pay", "--json")
    assert wrong.problem["code"] == "bad_input"
