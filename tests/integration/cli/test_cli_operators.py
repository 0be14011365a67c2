"""`turnline approvals`, `effects`, `dead` and `cron`: what people do to rows, once, and with a trail."""

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessionstore.effect import EffectState
from sessionstore.timer import CronJob
from tests.integration.cli.conftest import Ran
from tests.integration.cli.story import KEY, end_effect, opened

Command = Callable[..., Ran]


def question(turnline: Command) -> dict[str, Any]:
    (wait,) = turnline("approvals", "list", "--json").document["approvals"]
    return dict(wait)


def dead_letter(turnline: Command) -> dict[str, Any]:
    (letter,) = turnline("dead", "list", "--json").document["dead"]
    return dict(letter)


def ended(folder: Path, state: EffectState) -> str:
    async def work() -> str:
        async with opened(folder / "turnline.sqlite") as store:
            return await end_effect(store, state, "timeout")

    return asyncio.run(work())


def trail(folder: Path) -> list[tuple[str, str, str]]:
    async def work() -> list[tuple[str, str, str]]:
        async with opened(folder / "turnline.sqlite") as store:
            return [(line["actor"], line["action"], line["target"]) for line in await store.reads.trail()]

    return asyncio.run(work())


def state_of(turnline: Command, effect_id: str) -> str:
    effects = turnline("effects", "list", "--json").document["effects"]
    return next(str(effect["state"]) for effect in effects if effect["effect_id"] == effect_id)


def test_a_question_is_listed_with_what_it_is_bound_to(turnline: Command) -> None:
    out = turnline("approvals", "list").out
    for said in ("Deploy 2.1?", KEY, "commit=abc123", "in 1h 59m", "approve | reject"):
        assert said in out


def test_the_first_answer_wins_and_the_second_is_told_who_was_first_and_when(turnline: Command) -> None:
    wait_id = question(turnline)["wait_id"]
    first = turnline("approvals", "answer", wait_id, "approve", "--by", "bob", "--json")
    assert (first.code, first.document["answer"], first.document["by"]) == (0, "approved", "bob")
    second = turnline("approvals", "answer", wait_id, "reject", "--by", "eve")
    assert second.code == 1
    assert second.err.startswith("error: 'Deploy 2.1?' is already answered: bob answered approved at 20")
    assert question_after(turnline) == ("approved", "bob")


def question_after(turnline: Command) -> tuple[str, str]:
    (wait,) = turnline("approvals", "list", "--all", "--json").document["approvals"]
    return wait["answer"], wait["answered_by"]


def test_an_answer_that_is_no_option_is_refused_and_the_question_stays_open(turnline: Command) -> None:
    ran = turnline("approvals", "answer", question(turnline)["wait_id"], "maybe", "--json")
    assert (ran.code, ran.problem["hint"]) == (1, "give one of: approve, reject")
    assert question(turnline)["status"] == "open"


def test_an_answer_after_the_expiry_is_late(turnline: Command, plant: Callable[..., int]) -> None:
    wait_id = question(turnline)["wait_id"]
    assert plant("UPDATE wait SET due = 1000") == 1
    for words in (["--dry-run"], []):
        ran = turnline("approvals", "answer", wait_id, "approve", *words)
        assert ran.code == 1
        assert "'Deploy 2.1?' expired at 1970-01-01" in ran.err


def test_a_dry_run_of_an_answer_changes_nothing(turnline: Command) -> None:
    wait_id = question(turnline)["wait_id"]
    assert turnline("approvals", "answer", wait_id, "approve", "--dry-run").code == 0
    assert question(turnline)["status"] == "open"


@pytest.mark.parametrize(
    "words",
    [
        ("approvals", "answer", "nobody", "approve"),
        ("effects", "mark", "nobody", "delivered"),
        ("effects", "resend", "nobody"),
        ("dead", "redrive", "nobody"),
        ("dead", "drop", "nobody"),
    ],
)
def test_an_unknown_id_is_not_found(turnline: Command, words: tuple[str, ...]) -> None:
    ran = turnline(*words, "--json")
    assert (ran.code, ran.out, ran.problem["code"]) == (1, "", "not_found")


def test_effects_can_be_listed_by_state_and_session(turnline: Command, folder: Path) -> None:
    effect_id = ended(folder, EffectState.UNKNOWN)
    found = turnline("effects", "list", "--state", "unknown,failed", "--session", KEY, "--json").document["effects"]
    assert [effect["effect_id"] for effect in found] == [effect_id]
    assert effect_id in turnline("effects", "list").out
    assert turnline("effects", "list", "--session", "agent:clerk/desk:2", "--json").document == {"effects": []}


def test_a_state_that_is_none_is_refused_with_the_states_there_are(turnline: Command) -> None:
    ran = turnline("effects", "list", "--state", "lost")
    assert ran.code == 1
    assert "pending, sending, retry, unknown" in ran.err


def test_an_unknown_effect_can_be_marked_once(turnline: Command, folder: Path) -> None:
    effect_id = ended(folder, EffectState.UNKNOWN)
    words = ("effects", "mark", effect_id, "delivered", "--by", "bob", "--json")
    assert turnline(*words, "--dry-run").document["dry_run"] is True
    assert state_of(turnline, effect_id) == "unknown"
    assert turnline(*words).document == {
        "effect_id": effect_id,
        "from": "unknown",
        "to": "delivered",
        "session_key": KEY,
        "dry_run": False,
    }
    assert state_of(turnline, effect_id) == "delivered"
    assert turnline(*words).problem["code"] == "conflict"
    assert ("bob", "effect.mark.delivered", KEY) in trail(folder)


def test_a_failed_effect_can_be_sent_again(turnline: Command, folder: Path) -> None:
    effect_id = ended(folder, EffectState.FAILED)
    assert turnline("effects", "resend", effect_id, "--dry-run").code == 0
    assert state_of(turnline, effect_id) == "failed"
    assert turnline("effects", "resend", effect_id).code == 0
    assert state_of(turnline, effect_id) == "retry"


def test_resending_what_is_unknown_says_that_it_may_be_done_twice(turnline: Command, folder: Path) -> None:
    ran = turnline("effects", "resend", ended(folder, EffectState.UNKNOWN))
    assert ran.code == 0
    assert "possible duplicate" in ran.out


def test_a_dead_letter_is_listed_with_its_reason_and_its_text(turnline: Command) -> None:
    out = turnline("dead", "list").out
    assert "RuntimeError: the clerk cannot bear it" in out
    assert "boom" in out
    assert b"boom" in base64.b64decode(dead_letter(turnline)["raw_base64"])


def test_a_redriven_letter_is_queued_again_and_cannot_be_redriven_twice(turnline: Command) -> None:
    dead_id = dead_letter(turnline)["dead_id"]
    assert turnline("dead", "redrive", dead_id, "--dry-run").code == 0
    assert turnline("dead", "redrive", dead_id).code == 0
    (row,) = turnline("sessions", "show", KEY, "--json").document["session"]["queued_rows"]
    assert row["event"]["data"] == {"text": "boom"}
    assert turnline("dead", "redrive", dead_id, "--json").problem["code"] == "conflict"


def test_a_dropped_letter_is_no_longer_listed_but_kept(turnline: Command) -> None:
    dead_id = dead_letter(turnline)["dead_id"]
    assert turnline("dead", "drop", dead_id, "--dry-run").code == 0
    assert dead_letter(turnline)["dead_id"] == dead_id
    assert turnline("dead", "drop", dead_id).code == 0
    assert turnline("dead", "list", "--json").document == {"dead": []}
    assert turnline("dead", "list", "--all", "--json").document["dead"][0]["state"] == "dropped"


def test_jobs_are_listed_with_their_next_time(turnline: Command, folder: Path) -> None:
    job = CronJob(
        "default",
        "standup",
        "clerk",
        "standup",
        "agent:clerk/cron:standup",
        "0 9 * * MON-FRI",
        "Europe/Berlin",
        next_due=4e9,
    )

    async def declare() -> None:
        async with opened(folder / "turnline.sqlite") as store:
            await store.cron.declare([job])

    assert "No job is declared" in turnline("cron", "list").out
    asyncio.run(declare())
    assert "0 9 * * MON-FRI" in turnline("cron", "list").out
    (listed,) = turnline("cron", "list", "--json").document["jobs"]
    assert (listed["job"], listed["tz"], listed["next_due"]) == ("standup", "Europe/Berlin", 4e9)
