"""`turnline sessions`: the stage, the transcript, and what is not there."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from sessionstore.inbox import SessionRef
from tests.integration.cli.conftest import Ran
from tests.integration.cli.story import KEY, REF, message, opened, running, settled, until
from turnline.cli.following import follow, last

Command = Callable[..., Ran]


def test_list_shows_each_session_with_its_stage(turnline: Command) -> None:
    ran = turnline("sessions", "list")
    assert ran.code == 0
    assert KEY in ran.out
    assert "review" in ran.out
    assert "agent:clerk/desk:2" in ran.out


def test_list_as_json_has_stable_keys_and_no_record(turnline: Command) -> None:
    (one,) = turnline("sessions", "list", "--query", "desk:1", "--json").document["sessions"]
    assert (one["tenant"], one["session"], one["status"], one["phase"]) == ("default", KEY, "waiting", "review")
    assert one["goal"]["aim"] == "Ship 2.1"
    assert "record" not in one


def test_list_can_be_narrowed_to_a_tenant(turnline: Command) -> None:
    found = turnline("sessions", "list", "--tenant", "acme", "--json").document["sessions"]
    assert [one["session"] for one in found] == ["agent:clerk/desk:2"]


def test_show_tells_the_stage_without_a_model(turnline: Command) -> None:
    out = turnline("sessions", "show", KEY).out
    for said in ("Ship 2.1", "the tests are green", "review", "deploy once somebody has said yes"):
        assert said in out
    assert "an answer: Deploy 2.1? [commit=abc123] → decided, expires in 1h 59m" in out
    assert "the clerk cannot bear it" in out
    assert "4 turns, 20 tokens, cost 1" in out


def test_show_tells_what_is_approved_and_what_it_is_bound_to(turnline: Command, folder: Path) -> None:
    (wait,) = turnline("approvals", "list", "--json").document["approvals"]
    assert turnline("approvals", "answer", wait["wait_id"], "approve", "--by", "bob").code == 0
    handle_the_rest(folder)
    out = turnline("sessions", "show", KEY).out
    assert "approved by bob, bound to commit=abc123: Deploy 2.1?" in out
    assert "deployed" in out


def handle_the_rest(folder: Path) -> None:
    async def handled() -> None:
        async with opened(folder / "turnline.sqlite") as store, running(store):
            await until(store, lambda: settled(store))

    asyncio.run(handled())


def test_show_as_json_has_record_waits_queue_and_effects(turnline: Command) -> None:
    document = turnline("sessions", "show", KEY, "--json").document
    assert document["session"]["record"]["execution"]["phase"] == "review"
    assert [wait["question"] for wait in document["session"]["waits"]] == ["Deploy 2.1?"]
    assert document["session"]["queued_rows"] == []
    assert {effect["state"] for effect in document["effects"]} == {"pending"}


def test_an_unknown_session_is_one_sentence_and_a_hint(turnline: Command) -> None:
    ran = turnline("sessions", "show", "agent:clerk/desk:9")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.splitlines() == [
        "error: no session 'agent:clerk/desk:9' in tenant 'default'",
        "hint:  `turnline sessions list` shows the keys",
    ]


def test_a_session_of_another_tenant_is_named_in_the_hint(turnline: Command) -> None:
    assert "agent:clerk/desk:2 (tenant acme)" in turnline("sessions", "show", "agent:clerk/desk:2").err


def test_what_is_no_key_is_refused_as_a_problem_object(turnline: Command) -> None:
    ran = turnline("sessions", "show", "desk", "--json")
    assert (ran.code, ran.out, ran.problem["code"], ran.problem["retryable"]) == (1, "", "bad_key", False)
    assert set(ran.problem) == {"code", "title", "detail", "hint", "retryable"}


def test_tail_is_one_line_an_event(turnline: Command) -> None:
    lines = turnline("sessions", "tail", KEY, "-n", "100").out.splitlines()
    assert len(lines) == 18
    assert lines[0].split()[2:] == ["message.in", "ann:", "hello"]
    assert turnline("sessions", "tail", KEY, "-n", "2").out.splitlines() == lines[-2:]


def test_tail_as_json_is_one_document_a_line(turnline: Command) -> None:
    rows = [json.loads(line) for line in turnline("sessions", "tail", KEY, "-n", "3", "--json").out.splitlines()]
    assert [row["seq"] for row in rows] == [16, 17, 18]
    assert set(rows[0]) == {"seq", "epoch", "type", "at", "turn_id", "body"}


async def test_following_gives_what_comes_after_without_a_gap(folder: Path) -> None:
    async with opened(folder / "turnline.sqlite") as store:
        shown, after = await last(store.reads, REF, 1)
        assert [row["seq"] for row in shown] == [18]
        changed = asyncio.Event()
        store.listen(lambda notice: changed.set())

        async def pause(length_s: float) -> None:
            await changed.wait()
            changed.clear()

        rows = follow(store.reads, REF, after, pause=pause)
        async with running(store):
            await store.inbox.put([message("more", "5")])
            more = await anext(rows)
        assert [row["seq"] for row in more] == list(range(19, 19 + len(more)))
        assert more[0]["body"]["data"] == {"text": "more"}
        await rows.aclose()


async def test_an_unknown_session_has_nothing_to_follow(folder: Path) -> None:
    async with opened(folder / "turnline.sqlite") as store:
        assert await last(store.reads, SessionRef("default", "agent:clerk/desk:9"), 5) == ([], 0)


def test_text_of_strangers_cannot_steer_the_terminal(turnline: Command, folder: Path) -> None:
    assert turnline("send", "evil \x1b[2J\x9b31m\u202etxt", "--session", "agent:clerk/desk:3").code == 0
    ran = turnline("sessions", "show", "agent:clerk/desk:3")
    assert r"evil \x1b[2J\x9b31m\x202etxt" in ran.out
    assert "\x1b[2J" not in ran.out
    assert "\u202e" not in ran.out
