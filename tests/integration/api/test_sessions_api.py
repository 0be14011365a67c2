"""Sessions over HTTP: any key in the path, pages that lose nothing, and tokens that see no more than is theirs."""

from pathlib import Path
from typing import Any

import pytest

from router.http.schema import (
    CheckpointPage,
    EffectList,
    RecordView,
    SessionList,
    SessionView,
    TranscriptPage,
)
from router.keys import make_key
from sessionstore.record import canonical, checksum
from tests.integration.api.served import ADMIN, Served, path_of, scoped_token, served

ODD_IDS = ["octo/hello", "100%", "%2F", "a%252Fb", "größe ✓", "a+b c?d=e#f", "..", "{key}", "a\\b;c"]


@pytest.mark.parametrize("odd", ODD_IDS)
async def test_a_key_with_any_id_comes_through_the_path_unchanged(server: Served, odd: str) -> None:
    key = make_key("default", "demo", [("api", "ci"), ("source", odd)])
    await server.publish(key, "hi")
    await server.turn_closed(key.text)
    assert (await server.get(path_of(key.text)))["key"] == key.text
    assert [row["key"] for row in (await server.get("/v1/sessions"))["sessions"]] == [key.text]
    for part, name in (("transcript", "events"), ("effects", "effects"), ("checkpoints", "checkpoints")):
        assert name in await server.get(f"{path_of(key.text)}/{part}")


async def test_answers_have_the_forms_that_are_described(server: Served) -> None:
    key = make_key("default", "demo", [("api", "ci"), ("source", "s")])
    await server.publish(key, "ask Deploy?")
    await server.publish(key, "request", event_id="e2")
    await server.turn_closed(key.text, 2)
    path = path_of(key.text)
    session = SessionView.model_validate(await server.get(path))
    assert session.next == "Waits for an answer: Deploy?"
    assert [(wait.kind, wait.question, wait.then) for wait in session.awaited] == [("approval", "Deploy?", "decided")]
    assert (session.totals.turns, session.status, session.effects_open) == (2, "waiting", 1)
    [line] = SessionList.model_validate(await server.get("/v1/sessions")).sessions
    assert (line.last_text, line.turns, line.waits_open, line.effects_open) == ("request", 2, 1, 1)
    [effect] = EffectList.model_validate(await server.get(f"{path}/effects")).effects
    assert (effect.session_key, effect.adapter, effect.state) == (key.text, "elsewhere", "pending")
    TranscriptPage.model_validate(await server.get(f"{path}/transcript"))
    record = RecordView.model_validate(await server.get(f"{path}/record"))
    assert record.sha256 == checksum(canonical(record.record))
    lines = CheckpointPage.model_validate(await server.get(f"{path}/checkpoints")).checkpoints
    assert [one.sha256 for one in lines][-1] == record.sha256
    assert [one.seq for one in lines] == sorted(one.seq for one in lines)


async def test_a_waiting_event_is_told_with_its_text(quiet: Served) -> None:
    key = make_key("default", "demo", [("api", "ci"), ("source", "s")])
    await quiet.publish(key, "hi there")
    view = SessionView.model_validate(await quiet.get(path_of(key.text)))
    assert (view.next, [row.text for row in view.queued], view.queued[0].due) == (
        "Runs the queued event.",
        ["hi there"],
        None,
    )


async def test_pages_of_sessions_that_changed_in_one_instant_lose_and_repeat_none(
    quiet: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quiet.store.clock, "now", lambda: 1_800_000_000.0)
    keys = [make_key("default", "demo", [("api", "ci"), ("source", f"s{n}")]) for n in range(7)]
    for key in keys:
        await quiet.publish(key)
    seen: list[str] = []
    after = ""
    while True:
        page = await quiet.get(f"/v1/sessions?limit=2&after={after}")
        seen += [row["key"] for row in page["sessions"]]
        if page["next"] is None:
            break
        after = page["next"]
    assert sorted(seen) == sorted(key.text for key in keys)


async def test_sessions_are_found_by_a_part_of_the_key(quiet: Served) -> None:
    for source in ("alpha", "beta"):
        await quiet.publish(make_key("default", "demo", [("api", "ci"), ("source", source)]))
    found = await quiet.get("/v1/sessions?q=alpha")
    assert [row["key"] for row in found["sessions"]] == ["agent:demo/api:ci/source:alpha"]


async def test_a_transcript_comes_in_pages(server: Served) -> None:
    key = make_key("default", "demo", [("api", "ci"), ("source", "s")])
    await server.publish(key)
    whole = await server.turn_closed(key.text)
    path, after, read = f"{path_of(key.text)}/transcript", 0, []
    while after is not None:
        page = await server.get(f"{path}?after={after}&limit=2")
        read += page["events"]
        after = page["next"]
    assert read == whole


async def test_a_stream_goes_on_after_the_last_number_that_was_seen(server: Served) -> None:
    key = make_key("default", "demo", [("api", "ci"), ("source", "s")])
    await server.publish(key)
    first = await server.turn_closed(key.text)
    await server.publish(key, "again", event_id="e2")
    rest: list[dict[str, Any]] = []
    async for event in server.stream(key.text, last=first[-2]["seq"]):
        rest.append(event)
        if len(rest) > 1 and event["type"] == "turn.closed":
            break
    assert rest[0] == first[-1]
    assert [event["seq"] for event in (*first, *rest[1:])] == list(range(1, rest[-1]["seq"] + 1))


async def test_a_stream_tells_what_comes_while_it_is_open(server: Served) -> None:
    key = make_key("default", "demo", [("api", "ci"), ("source", "s")])
    await server.publish(key)
    turns = 0
    async for event in server.stream(key.text):
        if event["type"] == "turn.closed":
            turns += 1
            if turns == 3:
                break
            await server.publish(key, f"more {turns}", event_id=f"e{turns + 1}")
    assert (await server.get(path_of(key.text)))["totals"]["turns"] == 3


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 40, "²"])
async def test_a_stream_refuses_a_last_number_that_is_none(quiet: Served, last: str) -> None:
    key = make_key("default", "demo", [("api", "ci"), ("source", "s")])
    await quiet.publish(key)
    headers = {"Last-Event-ID": last}
    status, problem = await quiet.ask("GET", f"{path_of(key.text)}/stream", headers=headers)
    assert (status, problem["code"]) == (400, "bad_input")


@pytest.mark.parametrize("part", ["", "/transcript", "/checkpoints", "/effects", "/record", "/stream"])
async def test_an_unknown_session_is_not_found(quiet: Served, part: str) -> None:
    status, problem = await quiet.ask("GET", f"{path_of('agent:demo/dm:nobody')}{part}")
    assert (status, problem["code"]) == (404, "not_found")
    assert problem["hint"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/sessions/agent:demo/dm:1", 404, "not_found"),
        ("/v1/sessions/nonsense", 400, "bad_key"),
        ("/v1/sessions/agent%3Ademo%2Fdm%3A%25c3%25bc", 400, "bad_key"),
        ("/v1/sessions/%ff", 400, "bad_input"),
        ("/v1/sessions?limit=x", 400, "bad_input"),
        ("/v1/sessions?limit=0", 400, "bad_input"),
        ("/v1/sessions?after=x", 400, "bad_input"),
        ("/v1/effects?state=gone", 400, "bad_input"),
        ("/v1/approvals?status=gone", 400, "bad_input"),
    ],
)
async def test_what_cannot_be_used_is_answered_with_a_code_and_a_hint(
    quiet: Served, path: str, status: int, code: str
) -> None:
    got, problem = await quiet.ask("GET", path)
    assert (got, problem["code"], problem["status"]) == (status, code, status)
    assert problem["hint"]
    assert problem["detail"]


async def test_a_token_sees_and_does_only_what_it_may(tmp_path: Path) -> None:
    tokens = [scoped_token("reader", "ci", "read"), scoped_token("writer", "ci", "read", "write")]
    async with served(tmp_path, tokens=tokens) as server:
        own = make_key("default", "demo", [("api", "ci"), ("source", "s")])
        foreign = make_key("default", "demo", [("api", "other"), ("source", "s")])
        for key in (own, foreign):
            await server.publish(key, "ask Deploy?", event_id="e1")
            await server.publish(key, "request", event_id="e2")
            await server.turn_closed(key.text, 2)
        listed = await server.get("/v1/sessions?limit=1", token="reader")
        assert [row["key"] for row in listed["sessions"]] == [own.text]
        assert (await server.get(path_of(own.text), token="reader"))["key"] == own.text
        for part in ("", "/transcript", "/stream", "/record"):
            status, problem = await server.ask("GET", f"{path_of(foreign.text)}{part}", token="reader")
            assert (status, problem["code"]) == (403, "not_allowed")
        for path, name in (("/v1/effects", "effects"), ("/v1/approvals", "approvals")):
            mine = (await server.get(path, token="reader"))[name]
            everything = (await server.get(path))[name]
            assert [one["session_key"] for one in mine] == [own.text]
            assert len(everything) == 2
            [theirs] = [one for one in everything if one["session_key"] == foreign.text]
            [of_own] = mine
        status, problem = await server.ask(
            "POST", f"/v1/approvals/{of_own['id']}", token="writer", body={"decision": "approve"}
        )
        assert (status, problem["code"]) == (403, "not_allowed")
        status, _ = await server.ask("GET", f"/v1/approvals/{theirs['id']}", token="reader")
        assert status == 404


async def test_a_token_that_may_see_few_sessions_finds_them_among_many(tmp_path: Path) -> None:
    async with served(tmp_path, tokens=[scoped_token("reader", "ci", "read")], runs=False) as server:
        own = make_key("default", "demo", [("api", "ci"), ("source", "s")])
        await server.publish(own)
        for n in range(30):
            await server.publish(make_key("default", "demo", [("api", "other"), ("source", f"s{n}")]))
        page = await server.get("/v1/sessions?limit=5", token="reader")
        assert ([row["key"] for row in page["sessions"]], page["next"]) == ([own.text], None)


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/effects", "/v1/approvals", "/v1/dead", "/v1/cron"])
@pytest.mark.parametrize("token", ["", "wrong", ADMIN[:-1]])
async def test_nothing_is_told_without_a_known_token(quiet: Served, path: str, token: str) -> None:
    status, problem = await quiet.ask("GET", path, token=token)
    assert (status, problem["code"]) == (401, "not_authenticated")
    assert problem["hint"]
