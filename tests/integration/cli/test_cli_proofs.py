"""`turnline audit`, `verify` and `doctor`: 0 when all is well, 1 and what is wrong when it is not."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Ran
from tests.integration.cli.story import KEY
from turnline.datafolder import DataFolder

Command = Callable[..., Ran]
Plant = Callable[..., int]


def levels(turnline: Command, *words: str) -> dict[str, str]:
    return {finding["name"]: finding["level"] for finding in turnline(*words, "doctor", "--json").document["findings"]}


def test_an_untouched_store_is_balanced(turnline: Command) -> None:
    ran = turnline("audit")
    assert ran.code == 0
    assert "5 accepted = 1 dead + 4 settled" in ran.out
    assert turnline("audit", "--json").document["balanced"] is True


def test_a_deleted_event_is_named_by_table(turnline: Command, plant: Plant) -> None:
    assert plant("DELETE FROM inbox WHERE event_id = '2'") == 1
    ran = turnline("audit")
    assert ran.code == 1
    assert "1 event missing from the inbox (5 accepted, 0 pruned, 4 stored)" in ran.out


def test_a_range_is_widened_to_whole_hours_and_says_so(turnline: Command) -> None:
    ran = turnline("audit", "--since", "2h")
    assert "a range is widened to whole hours" in ran.out
    early = turnline("audit", "--until", "2020-01-01T10:20", "--json").document
    assert (early["until"], [b["counted"] for b in early["balances"]]) == ("2020-01-01T11:00Z", [0, 0])


def test_a_time_that_is_none_is_refused(turnline: Command) -> None:
    assert turnline("audit", "--since", "yesterday", "--json").problem["code"] == "bad_input"


def test_an_untouched_store_verifies(turnline: Command) -> None:
    assert turnline("verify").code == 0
    document = turnline("verify", "--json").document
    assert (document["agrees"], len(document["sessions"])) == (True, 2)


def test_an_edited_state_is_pinned_to_its_turn(turnline: Command, plant: Plant) -> None:
    body = b'{"ops":[{"op":"add","path":"/count","value":7},{"op":"add","path":"/words","value":["hello"]}]}'
    assert plant("UPDATE transcript SET body = ? WHERE session = ? AND seq = 2", body, KEY) == 1
    ran = turnline("verify")
    assert ran.code == 1
    assert KEY in ran.out
    assert "1 to 4, is not what was written" in ran.out
    (one,) = [s for s in turnline("verify", "--json").document["sessions"] if not s["agrees"]]
    assert (one["differences"][0]["seq"], one["differences"][0]["type"]) == (4, "turn.closed")


def test_one_session_can_be_verified_by_its_key(turnline: Command, plant: Plant) -> None:
    plant("UPDATE record SET body = '{}' WHERE session = ?", KEY)
    assert turnline("verify", KEY).code == 1
    assert turnline("verify", "agent:clerk/desk:2", "--tenant", "acme").code == 0
    assert turnline("verify", "agent:clerk/desk:9", "--json").problem["code"] == "not_found"


def test_a_record_that_is_no_json_is_told_without_a_traceback(turnline: Command, plant: Plant) -> None:
    plant("UPDATE record SET body = 'x' WHERE session = ?", KEY)
    assert "it is not JSON" in turnline("verify", KEY).out
    for words in (("verify",), ("audit",), ("sessions", "list"), ("sessions", "show", KEY)):
        assert turnline(*words, "--json").problem["code"] == "damaged"
    assert "is not JSON" in turnline("doctor").out


def test_doctor_says_what_to_do_about_a_dead_letter(turnline: Command) -> None:
    ran = turnline("doctor")
    assert ran.code == 1
    assert "turnline dead redrive ID" in ran.out
    assert levels(turnline)["dead letters"] == "attention"


def test_doctor_is_content_with_a_store_in_order(turnline: Command, plant: Plant) -> None:
    plant("DELETE FROM dead")
    ran = turnline("doctor", "--json")
    assert [f for f in ran.document["findings"] if f["level"] == "attention"] == []
    assert (ran.code, ran.document["ok"]) == (0, True)
    assert levels(turnline)["journal"] == levels(turnline)["integrity"] == levels(turnline)["packages"] == "ok"


def test_doctor_names_the_process_that_serves(turnline: Command, folder: Path) -> None:
    held = DataFolder(folder)
    held.hold()
    try:
        assert f"runs as process {os.getpid()}" in turnline("doctor").out
    finally:
        held.release()


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE outbox SET state = 'unknown', sent_at = 1000", "unknown effects"),
        ("UPDATE outbox SET due = 0, created_at = 1000", "effects"),
        ("UPDATE outbox SET state = 'failed'", "failed effects"),
        (
            "UPDATE inbox SET status = 'queued', body = '{}', due = 0, received_at = 1000 WHERE event_id = '4'",
            "sessions",
        ),
        ("UPDATE session SET updated_at = 9e9", "clock"),
        ("PRAGMA user_version = 999", "schema"),
    ],
)
def test_doctor_finds(turnline: Command, plant: Plant, statement: str, name: str) -> None:
    if name == "sessions":
        plant("UPDATE session SET due = 0")
    plant(statement)
    assert levels(turnline)[name] == "attention"


def test_doctor_reads_a_file_that_is_no_store(turnline: Command, folder: Path) -> None:
    (folder / "turnline.sqlite").write_bytes(b"not a database, but long enough to look like one" * 100)
    assert levels(turnline)["integrity"] == "attention"


def test_doctor_hides_secrets_and_passwords(turnline: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLINE_TOKEN", "s3cret-token")
    monkeypatch.setenv("TURNLINE_STORE", "postgresql://me:s3cret-word@db/x")
    ran = turnline("doctor", "--store", "sqlite:////nowhere/x.sqlite", "--json")
    assert "s3cret" not in ran.out
    assert ran.document["settings"]["token"].strip("*") == ""


def test_doctor_tells_of_a_wrong_setting_instead_of_failing(turnline: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLINE_PORT", "no")
    ran = turnline("doctor", "--json")
    assert (ran.code, ran.document["ok"], ran.document["settings"]) == (1, False, None)
    assert "port" in next(f["says"] for f in ran.document["findings"] if f["name"] == "settings")
