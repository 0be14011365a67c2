"""`/v1/events`: who may send what, as whom and where to; the same request again is the same event."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.integration.doors.opened import ADMIN, archive, assert_problem, opened

BUILD = {"source": "builds", "type": "build.done", "agent": "ci", "data": {"ok": True, "text": "b\u00fcilt"}}
OWN = "agent:ci/api:admin/source:builds"


def told(answer: tuple[int, Any], code: str = "invalid_event") -> list[str]:
    return [each["field"] for each in assert_problem(answer, 400, code)["errors"]]


async def test_an_event_is_taken_with_its_id_its_key_and_its_route(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        answer = await door.event({**BUILD, "id": "e-1", "reply_to": "crm"})
        assert answer == (202, {"event_id": "e-1", "session_key": OWN, "duplicate": False})
        [event] = await door.stored()
        assert (event.tenant, event.source, event.id, event.type) == ("default", "builds", "e-1", "build.done")
        assert (event.session, event.agent, event.sender, event.data) == (OWN, "ci", "admin", BUILD["data"])
        assert event.reply_route == {"adapter": "webhook", "lane": "webhook:crm", "endpoint": "crm"}


async def test_the_idempotency_key_is_the_id_and_without_either_one_is_made(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        for key in ("k-1", '"k-1"'):
            assert (await door.event(BUILD, Idempotency_Key=key))[1]["event_id"] == "k-1"
        assert (await door.event({**BUILD, "id": "k-1"}, Idempotency_Key="k-1"))[1]["duplicate"] is True
        made = [(await door.event(BUILD))[1] for _ in range(2)]
        assert len({uuid.UUID(each["event_id"]) for each in made}) == 2
        assert [each["duplicate"] for each in made] == [False, False]
        assert len(await door.stored()) == 3
        assert told(await door.event({**BUILD, "id": "a"}, Idempotency_Key="b")) == ["id"]
        assert told(await door.event(BUILD, Idempotency_Key="k" * 201)) == ["Idempotency-Key"]
        assert told(await door.event(BUILD, Idempotency_Key='""')) == ["Idempotency-Key"]


async def test_the_same_request_again_gets_the_first_answer_however_it_is_laid_out(tmp_path: Path) -> None:
    first = {**BUILD, "id": "e-1"}
    reordered = orjson.dumps(dict(reversed(first.items())), option=orjson.OPT_INDENT_2)
    for duplicate in (False, True):  # the second time on the store opened again
        async with opened(tmp_path) as door:
            for n, body in enumerate((first, reordered)):
                status, answer = await door.event(body)
                assert (status, answer["session_key"]) == (202, OWN)
                assert answer["duplicate"] is (duplicate or n > 0)
            assert len(await door.stored()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"data": {"ok": False}},
        {"type": "build.failed"},
        {"reply_to": "crm"},
        {"agent": "main"},
        {"session_key": "agent:ci/build:1"},
        {"data": None},
    ],
)
async def test_another_request_under_the_same_id_is_a_conflict(tmp_path: Path, change: dict[str, Any]) -> None:
    async with opened(tmp_path) as door:
        await door.event({**BUILD, "id": "e-1"})
        document = assert_problem(await door.event({**BUILD, "id": "e-1", **change}), 409, "id_conflict")
        assert "e-1" in document["detail"]
        assert len(await door.stored()) == 1
        assert len(await door.lines("event.conflict")) == 1
        assert (await door.event({**BUILD, "id": "e-1", "source": "others", **change}))[0] == 202


async def test_twenty_at_once_are_one_event(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        answers = await asyncio.gather(*(door.event({**BUILD, "id": "e-1"}) for _ in range(20)))
        assert {status for status, _ in answers} == {202}
        assert sorted(answer["duplicate"] for _, answer in answers) == [False] + [True] * 19
        assert len(await door.stored()) == 1


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"[]", ["body"]),
        ({}, ["source", "type"]),
        ({**BUILD, "type": 3}, ["type"]),
        ({**BUILD, "type": "cron.nightly"}, ["type"]),
        ({**BUILD, "source": ""}, ["source"]),
        ({**BUILD, "id": "x" * 201}, ["id"]),
        ({**BUILD, "id": "a\nb"}, ["id"]),
        ({**BUILD, "sesion_key": "x"}, ["sesion_key"]),
        ({**BUILD, "session_key": "agent:ci/" + "x" * 600}, ["session_key"]),
        ({**BUILD, **{f"f{n:05}": 1 for n in range(5_000)}}, [f"f{n:05}" for n in range(10)]),
    ],
)
async def test_a_wrong_field_is_named(tmp_path: Path, body: Any, fields: list[str]) -> None:
    async with opened(tmp_path) as door:
        assert told(await door.event(body)) == fields
        assert await door.stored() == []
        [line] = await door.lines("event.refused")
        assert (line["action"], line["actor"]) == ("event.refused.invalid_event", "admin")


@pytest.mark.parametrize("body", [b"", b"{", b'{"source": "x", "type": "t", "data": NaN}', b"[" * 200 + b"]" * 200])
async def test_what_is_not_json_is_refused(tmp_path: Path, body: bytes) -> None:
    async with opened(tmp_path) as door:
        assert_problem(await door.event(body), 400, "malformed")
        assert len(await door.lines("event.refused.malformed")) == 1


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"reply_to": "nowhere"}, 400, "unknown_endpoint"),
        ({"agent": "nobody"}, 400, "unknown_agent"),
        ({"agent": None, "session_key": "agent:nobody/a:b"}, 400, "unknown_agent"),
        ({"agent": None}, 422, "no_owner"),
        ({"session_key": "agent:main/a:b"}, 400, "bad_key"),
        ({"session_key": "ci"}, 400, "bad_key"),
        ({"source": "github"}, 403, "not_allowed"),
        ({"source": "wait"}, 403, "not_allowed"),
        ({"source": "outbox"}, 403, "not_allowed"),
        ({"source": "cron:nightly"}, 403, "not_allowed"),
    ],
)
async def test_what_would_go_nowhere_or_speak_for_another_is_refused(
    tmp_path: Path, change: dict[str, Any], status: int, code: str
) -> None:
    async with opened(tmp_path) as door:
        assert_problem(await door.event({**BUILD, **change}), status, code)
        assert await door.stored() == []
        assert len(await door.lines(f"event.refused.{code}")) == 1


@pytest.mark.parametrize(
    ("token", "status", "code", "actor"),
    [
        ("wrong-token", 401, "not_authenticated", "ip:127.0.0.1"),
        ("", 401, "not_authenticated", "ip:127.0.0.1"),
        ("reader-token", 403, "not_allowed", "ip:127.0.0.1"),
    ],
)
async def test_without_a_token_that_may_write_nothing_is_read(
    tmp_path: Path, token: str, status: int, code: str, actor: str
) -> None:
    async with opened(tmp_path) as door:
        assert_problem(await door.event(b"{", token=token), status, code)
        [line] = await door.lines("event.refused")
        assert (line["action"], line["actor"]) == (f"event.refused.{code}", actor)
        assert ADMIN not in line["detail"]


async def test_a_scoped_token_stays_in_its_own_area(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        status, answer = await door.event({**BUILD, "id": "e-1"}, token="ci-token")
        assert (status, answer["session_key"]) == (202, "agent:ci/api:ci/source:builds")
        inside = {**BUILD, "id": "e-2", "session_key": "agent:ci/api:ci/mine:1"}
        assert (await door.event(inside, token="ci-token"))[0] == 202
        for key in ("agent:ci/github:octo%2Fhello/pr:17", "agent:ci/api:sales/source:builds", "agent:main/api:ci/a:b"):
            outside = {**BUILD, "agent": None, "session_key": key}
            assert_problem(await door.event(outside, token="ci-token"), 403, "not_allowed")


async def test_one_tokens_ids_are_not_anothers(tmp_path: Path) -> None:
    same = {**BUILD, "id": "e-1"}
    async with opened(tmp_path) as door:
        keys = []
        for token in (ADMIN, "ci-token", "sales-token", "other-token"):
            status, answer = await door.event(same, token=token)
            assert (status, answer["duplicate"]) == (202, False)
            keys.append(answer["session_key"])
        assert keys == [OWN, *(f"agent:ci/api:{name}/source:builds" for name in ("ci", "sales", "ci"))]
        events = await door.stored()
        assert {(event.tenant, event.source) for event in events} == {
            ("default", "builds"),
            ("default", "api:ci/builds"),
            ("default", "api:sales/builds"),
            ("other", "api:ci/builds"),
        }


async def test_an_archived_session_refuses_and_its_repeat_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        await door.event({**BUILD, "id": "e-1"})
        archive(door.store.path)
        for _ in range(2):
            document = assert_problem(await door.event({**BUILD, "id": "e-2"}), 409, "archived")
            assert OWN in document["detail"]
        [dropped] = await door.store.reads.dropped(None)
        assert dropped["event_id"] == "e-2"
        assert len(await door.stored()) == 1


async def test_many_at_once_are_all_taken_in_few_transactions(tmp_path: Path) -> None:
    notices: list[int] = []
    async with opened(tmp_path) as door:
        door.store.listen(lambda notice: notices.append(len(notice.rows)))
        answers = await asyncio.gather(*(door.event({**BUILD, "id": f"e-{n}"}) for n in range(200)))
        assert {(status, answer["duplicate"]) for status, answer in answers} == {(202, False)}
        assert sum(notices) == 200
        assert len([n for n in notices if n]) < 200
        [accepted, _] = await door.store.reads.balances(None)
        assert (accepted.counted, accepted.missing) == (200, 0)
