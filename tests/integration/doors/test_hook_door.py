"""`/v1/hooks/{source}`: each delivery once, none unsigned, and no 2xx before it is durable."""

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import AsyncMock, patch
from urllib.parse import urlencode

import pytest
from standardwebhooks import Webhook

from consumers.bus import StoreBus
from router.hooks import Hook
from router.signatures import sign_github
from sessionstore.errors import Overloaded, StoreBusy
from sessionstore.inbox import NewRow, PutResult
from sessionstore.key import SessionKey
from sessionstore.sqlite.store import SqliteStore
from tests.integration.doors.opened import (
    GITHUB,
    ISSUE,
    OLD_WHSEC,
    PAYLOADS,
    SECRET,
    WHSEC,
    archive,
    assert_problem,
    from_github,
    opened,
)

KEYS: dict[str, list[list[str]]] = json.loads((GITHUB / "session-keys.json").read_text())


def key_of(name: str) -> str:
    return SessionKey("default", "ci", tuple((kind, part_id) for kind, part_id in KEYS[name])).text


def from_billing(message_id: str, body: str, *, secret: str = WHSEC, at: datetime | None = None) -> dict[str, str]:
    at = at or datetime.now(UTC)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(message_id, at, body),
    }


async def test_every_github_payload_sent_three_times_is_accepted_once_into_its_session(tmp_path: Path) -> None:
    assert len(PAYLOADS) == 51
    async with opened(tmp_path) as door:
        for round_ in range(3):
            for name, body in PAYLOADS.items():
                status, answer = await door.post("/v1/hooks/github", body, from_github(name, body, f"d-{name}"))
                assert (status, answer) == (
                    202,
                    {"event_id": f"d-{name}", "session_key": key_of(name), "duplicate": round_ > 0},
                )
        events = await door.stored()
        assert {event.id: event.session for event in events} == {f"d-{name}": key_of(name) for name in PAYLOADS}
        assert len(events) == 51
        assert all(event.data["body"] == json.loads(PAYLOADS[event.id[2:]]) for event in events)
        [accepted, _] = await door.store.reads.balances(None)
        assert (accepted.counted, accepted.missing) == (51, 0)
        assert await door.lines("hook.refused") == []


async def test_no_wrongly_signed_payload_is_stored_and_each_leaves_a_line(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        for name, body in PAYLOADS.items():
            headers = from_github(name, body, f"d-{name}", "another secret")
            assert_problem(await door.post("/v1/hooks/github", body, headers), 401, "bad_signature")
        assert await door.stored() == []
        lines = await door.lines("hook.refused.bad_signature")
        assert len(lines) == 51
        assert {(line["actor"], line["target"]) for line in lines} == {("ip:127.0.0.1", "hooks/github")}


@pytest.mark.parametrize(
    ("path", "changed", "body", "status", "code"),
    [
        ("github", {"X-Hub-Signature-256": None}, ISSUE, 401, "bad_signature"),
        ("github", {"X-Hub-Signature-256": None, "X-Hub-Signature": "sha1=00"}, ISSUE, 401, "bad_signature"),
        ("github", {}, ISSUE + b" ", 401, "bad_signature"),
        ("github", {"X-Hub-Signature-256": sign_github(b"{]", SECRET)}, b"{]", 400, "malformed"),
        ("github", {"X-GitHub-Event": None}, ISSUE, 400, "no_event_type"),
        ("github", {"X-GitHub-Delivery": None}, ISSUE, 400, "no_delivery_id"),
        ("github", {"Content-Encoding": "gzip"}, ISSUE, 415, "encoded"),
        ("billing", {}, ISSUE, 401, "bad_signature"),
        ("nobody", {}, ISSUE, 404, "unknown_source"),
        ("n%00b%F0%9F%98%80%0Adoor", {}, ISSUE, 404, "unknown_source"),
    ],
)
async def test_what_is_refused_says_why_keeps_nothing_and_leaves_a_line(
    tmp_path: Path, path: str, changed: dict[str, str | None], body: bytes, status: int, code: str
) -> None:
    headers = {**from_github("issues.opened", ISSUE, "d-1"), **changed}
    kept = {name: value for name, value in headers.items() if value is not None}
    async with opened(tmp_path) as door:
        document = assert_problem(await door.post(f"/v1/hooks/{path}", body, kept), status, code)
        assert SECRET not in json.dumps(document)
        assert await door.stored() == []
        [line] = await door.lines("hook.refused")
        assert line["action"] == f"hook.refused.{code}"
        assert line["detail"] == f"{status}: {document['detail']}"


async def test_a_form_encoded_delivery_is_taken(tmp_path: Path) -> None:
    form = urlencode({"payload": ISSUE.decode()}).encode()
    headers = from_github("issues.opened", form, "d-1") | {"Content-Type": "application/x-www-form-urlencoded"}
    async with opened(tmp_path) as door:
        assert (await door.post("/v1/hooks/github", form, headers))[0] == 202
        [event] = await door.stored()
        assert event.data["body"] == json.loads(ISSUE)


@pytest.mark.parametrize("secret", [WHSEC, OLD_WHSEC])
async def test_the_public_library_is_understood_with_either_secret(tmp_path: Path, secret: str) -> None:
    body = '{"type": "invoice.paid", "data": {"total": "9,90 \u20ac"}}'
    async with opened(tmp_path) as door:
        for duplicate in (False, True):
            headers = from_billing("msg_1", body, secret=secret)
            status, answer = await door.post("/v1/hooks/billing", body.encode(), headers)
            assert (status, answer["duplicate"], answer["session_key"]) == (202, duplicate, "agent:ci/hook:billing")
        [event] = await door.stored()
        assert (event.type, event.data["body"]) == ("invoice.paid", json.loads(body))
        assert event.reply_route == {"adapter": "webhook", "lane": "webhook:crm", "endpoint": "crm"}
        assert "webhook-signature" not in event.data["headers"]


@pytest.mark.parametrize("away", [timedelta(seconds=-310), timedelta(seconds=310)])
async def test_a_delivery_replayed_too_late_is_refused(tmp_path: Path, away: timedelta) -> None:
    async with opened(tmp_path) as door:
        headers = from_billing("msg_1", "{}", at=datetime.now(UTC) + away)
        assert_problem(await door.post("/v1/hooks/billing", b"{}", headers), 401, "bad_signature")
        assert await door.stored() == []


async def test_another_body_under_a_known_id_is_answered_2xx_and_kept_as_a_dead_letter(tmp_path: Path) -> None:
    other = ISSUE.replace(b"Spelling", b"Grammar")
    async with opened(tmp_path) as door:
        await door.post("/v1/hooks/github", ISSUE, from_github("issues.opened", ISSUE, "d-1"))
        status, answer = await door.post("/v1/hooks/github", other, from_github("issues.opened", other, "d-1"))
        assert (status, answer["duplicate"], answer["conflict"]) == (202, True, True)
        assert len(await door.stored()) == 1
        [dead] = await door.store.reads.dead(None)
        assert (dead["source"], dead["event_id"], bytes(dead["raw"])) == ("github", "d-1", other)
        assert len(await door.lines("event.conflict")) == 1


async def test_what_was_taken_is_known_after_the_store_is_opened_again(tmp_path: Path) -> None:
    for duplicate in (False, True):
        async with opened(tmp_path) as door:
            _, answer = await door.post("/v1/hooks/github", ISSUE, from_github("issues.opened", ISSUE, "d-1"))
            assert answer["duplicate"] is duplicate
            assert len(await door.stored()) == 1


async def test_twenty_at_once_are_one_event(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        headers = from_github("issues.opened", ISSUE, "d-1")
        answers = await asyncio.gather(*(door.post("/v1/hooks/github", ISSUE, headers) for _ in range(20)))
        assert {status for status, _ in answers} == {202}
        assert sorted(answer["duplicate"] for _, answer in answers) == [False] + [True] * 19
        assert len(await door.stored()) == 1


class Failing(StoreBus):
    """A bus that cannot."""

    def __init__(self, store: SqliteStore, error: Exception) -> None:
        super().__init__(store.inbox)
        self._error = error

    async def publish(self, rows: Sequence[NewRow]) -> list[PutResult]:
        raise self._error


class Held(StoreBus):
    """A bus that says when it was asked, and waits before it writes."""

    def __init__(self, store: SqliteStore) -> None:
        super().__init__(store.inbox)
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def publish(self, rows: Sequence[NewRow]) -> list[PutResult]:
        self.asked.set()
        await self.go.wait()
        return await super().publish(rows)


FAILURES = [StoreBusy("locked", hint="later"), Overloaded("full", hint="later"), RuntimeError("a bug")]


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
async def test_what_a_bus_did_not_take_is_not_acknowledged(tmp_path: Path, error: Exception) -> None:
    async with opened(tmp_path, bus=lambda store: Failing(store, error)) as door:
        hook = await door.post("/v1/hooks/github", ISSUE, from_github("issues.opened", ISSUE, "d-1"))
        event = await door.event({"source": "x", "type": "message", "agent": "ci"})
        for status, document in (hook, event):
            assert status == (500 if isinstance(error, RuntimeError) else 503)
            assert document["retryable"] is True
            assert "bug" not in document["detail"]


async def test_a_closed_store_is_told_as_503(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        await door.store.close()
        answer = await door.post("/v1/hooks/github", ISSUE, from_github("issues.opened", ISSUE, "d-1"))
        assert_problem(answer, 503, "store_error")
        assert_problem(await door.event({"source": "x", "type": "message", "agent": "ci"}), 503, "store_error")


async def test_a_conflict_is_acknowledged_only_when_its_body_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        await door.post("/v1/hooks/github", ISSUE, from_github("issues.opened", ISSUE, "d-1"))
        refuse = AsyncMock(side_effect=StoreBusy("locked", hint="later"))
        with patch.object(door.store.operations, "add_dead", refuse):
            answer = await door.post("/v1/hooks/github", b"{}", from_github("issues.opened", b"{}", "d-1"))
        assert_problem(answer, 503, "store_busy")


async def test_the_answer_waits_for_the_write(tmp_path: Path) -> None:
    async with opened(tmp_path, bus=Held) as door:
        assert isinstance(door.bus, Held)
        headers = from_github("issues.opened", ISSUE, "d-1")
        posting = asyncio.ensure_future(door.post("/v1/hooks/github", ISSUE, headers))
        await door.bus.asked.wait()
        assert await door.stored() == []
        assert not posting.done()
        door.bus.go.set()
        assert (await posting)[0] == 202
        assert len(await door.stored()) == 1


async def test_without_an_agent_the_only_one_gets_it_and_of_several_none_is_guessed(tmp_path: Path) -> None:
    unowned = {"github": Hook("github", "github", (SECRET,))}
    headers = from_github("issues.opened", ISSUE, "d-1")
    async with opened(tmp_path, doors=unowned) as door:
        assert_problem(await door.post("/v1/hooks/github", ISSUE, headers), 503, "no_owner")
        assert await door.stored() == []
    async with opened(tmp_path, doors=unowned, agents=["solo"]) as door:
        status, answer = await door.post("/v1/hooks/github", ISSUE, headers)
        assert (status, answer["duplicate"]) == (202, False)
        assert answer["session_key"].startswith("agent:solo/")


async def test_an_archived_session_answers_2xx_and_keeps_the_delivery_with_its_reason(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        await door.post("/v1/hooks/github", ISSUE, from_github("issues.opened", ISSUE, "d-1"))
        archive(door.store.path)
        status, answer = await door.post("/v1/hooks/github", ISSUE, from_github("issues.opened", ISSUE, "d-2"))
        assert (status, answer["dropped"]) == (202, "the session is archived")
        [dropped] = await door.store.reads.dropped(None)
        assert dropped["event_id"] == "d-2"
