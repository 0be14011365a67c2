"""What operators do over HTTP: answer, mark, resend, redrive and drop; each leaves a line in the audit trail."""

from pathlib import Path
from typing import Any

import pytest

from router.http.schema import ApprovalList, DeadList, EffectList, EffectView, JobList
from router.keys import make_key
from sessionstore.effect import EffectState, Settlement
from sessionstore.timer import CronJob
from tests.integration.api.served import Served, scoped_token, served

KEY = make_key("default", "demo", [("api", "ci"), ("source", "s")])


async def unknown_effect(server: Served) -> str:
    """An effect that was sent, and nobody knows what became of it."""
    await server.publish(KEY, "request")
    await server.turn_closed(KEY.text)
    [claim] = await server.store.outbox.claim(["elsewhere"], 1, 30.0)
    await server.store.outbox.settle([Settlement(claim, EffectState.UNKNOWN, error="timed out", asked=True)])
    return claim.effect.effect_id


async def actions(server: Served) -> list[tuple[str, str]]:
    return [(line["actor"], line["action"]) for line in await server.store.reads.trail()]


async def test_an_unknown_effect_is_listed_and_marked_by_a_person(server: Served) -> None:
    effect_id = await unknown_effect(server)
    [listed] = EffectList.model_validate(await server.get("/v1/effects?state=unknown,failed")).effects
    assert (listed.effect_id, listed.error, listed.attempts) == (effect_id, "timed out", 1)
    assert (await server.get("/v1/effects?state=delivered"))["effects"] == []
    status, marked = await server.ask(
        "POST", f"/v1/effects/{effect_id}/mark", body={"state": "delivered", "note": "seen there"}
    )
    assert (status, EffectView.model_validate(marked).state) == (200, "delivered")
    status, problem = await server.ask("POST", f"/v1/effects/{effect_id}/mark", body={"state": "failed"})
    assert (status, problem["code"]) == (409, "conflict")
    assert await actions(server) == [("admin", "effect.mark.delivered")]


async def test_an_unknown_effect_is_sent_again_and_said_to_be_a_possible_duplicate(server: Served) -> None:
    effect_id = await unknown_effect(server)
    status, resent = await server.ask("POST", f"/v1/effects/{effect_id}/resend", body={})
    assert status == 200
    assert (resent["state"], resent["possible_duplicate"]) == ("retry", True)
    assert await actions(server) == [("admin", "effect.resend")]


@pytest.mark.parametrize("body", [{}, {"state": "gone"}, {"state": "failed", "more": 1}, [], "x"])
async def test_a_mark_that_says_nothing_usable_changes_nothing(server: Served, body: Any) -> None:
    effect_id = await unknown_effect(server)
    status, problem = await server.ask("POST", f"/v1/effects/{effect_id}/mark", body=body)
    assert (status, problem["code"]) == (400, "bad_input")
    assert (await server.store.reads.effect(effect_id) or {})["state"] == "unknown"


async def test_a_dead_event_is_redriven_once(server: Served) -> None:
    await server.publish(KEY, "fail")
    await server.turn_closed(KEY.text)
    [letter] = DeadList.model_validate(await server.get("/v1/dead")).dead
    assert (letter.session_key, letter.event_id, letter.state) == (KEY.text, "e1", "dead")
    assert "fail" in letter.preview
    status, redriven = await server.ask("POST", f"/v1/dead/{letter.id}/redrive")
    assert (status, redriven["state"]) == (200, "redriven")
    status, problem = await server.ask("POST", f"/v1/dead/{letter.id}/redrive")
    assert (status, problem["code"]) == (409, "conflict")
    assert ("admin", "dead.redrive") in await actions(server)


async def test_a_dead_letter_is_dropped_and_stays_known(quiet: Served) -> None:
    dead_id = await quiet.store.operations.add_dead("default", "hook", "x1", "not JSON", b"\xff{")
    status, dropped = await quiet.ask("POST", f"/v1/dead/{dead_id}/drop")
    assert (status, dropped["state"], dropped["preview"], dropped["bytes"]) == (200, "dropped", "\ufffd{", 2)
    status, problem = await quiet.ask("POST", f"/v1/dead/{dead_id}/redrive")
    assert (status, problem["code"]) == (409, "conflict")
    assert await actions(quiet) == [("admin", "dead.drop")]


async def test_what_is_not_of_the_callers_tenant_or_namespace_is_not_there(tmp_path: Path) -> None:
    async with served(tmp_path, tokens=[scoped_token("writer", "x", "read", "write", "approve")]) as server:
        effect_id = await unknown_effect(server)
        foreign = await server.store.operations.add_dead("elsewhere", "hook", "x1", "not JSON", b"{")
        lost = await server.store.operations.add_dead("default", "hook", "x2", "not JSON", b"{")
        asked = [
            ("writer", f"/v1/effects/{effect_id}/resend", {}),
            ("writer", f"/v1/effects/{effect_id}/mark", {"state": "failed"}),
            ("writer", f"/v1/dead/{lost}/drop", {}),
            ("admin-token", f"/v1/dead/{foreign}/drop", {}),
            ("admin-token", "/v1/dead/none/drop", {}),
            ("admin-token", "/v1/effects/none/resend", {}),
            ("admin-token", "/v1/approvals/none", {"decision": "approve"}),
        ]
        for token, path, body in asked:
            status, problem = await server.ask("POST", path, token=token, body=body)
            assert (status, problem["code"]) == (404, "not_found"), path
            assert problem["hint"]
        assert await actions(server) == []


async def test_a_question_takes_any_answer_where_no_decision_is_asked(server: Served) -> None:
    await server.publish(KEY, "ask Which colour?")
    await server.turn_closed(KEY.text)
    [open_] = ApprovalList.model_validate(await server.get("/v1/approvals")).approvals
    for body in ({}, {"decision": "maybe"}, {"decision": "approve", "answer": 1}):
        status, problem = await server.ask("POST", f"/v1/approvals/{open_.id}", body=body)
        assert (status, problem["code"]) == (400, "bad_input")
    status, given = await server.ask("POST", f"/v1/approvals/{open_.id}", body={"answer": {"colour": "blue"}})
    assert (status, given["status"], given["value"]) == (200, "answered", {"colour": "blue"})
    assert given["answer"] == '{"colour":"blue"}'
    assert (await server.get("/v1/approvals"))["approvals"] == []
    assert [one["id"] for one in (await server.get("/v1/approvals?status=answered"))["approvals"]] == [open_.id]
    assert await server.get(f"/v1/approvals/{open_.id}") == given


@pytest.mark.parametrize(
    "body",
    [
        b'{"answer": 123456789012345678901234567890}',
        b'{"answer": NaN}',
        b'{"answer": 1e999}',
        b'{"answer": "\\ud800"}',
        b'{"decision": "approve", "decision": "reject"}',
        b'{"answer": ' + b"[" * 120 + b"]" * 120 + b"}",
        b"\xff",
        b"[]",
    ],
)
async def test_an_answer_that_could_not_be_kept_as_it_was_said_is_refused_and_the_question_stays_open(
    server: Served, body: bytes
) -> None:
    await server.publish(KEY, "ask Which colour?")
    await server.turn_closed(KEY.text)
    [open_] = ApprovalList.model_validate(await server.get("/v1/approvals")).approvals
    headers = {"Authorization": "Bearer admin-token"}
    async with server.http.post(f"{server.url}/v1/approvals/{open_.id}", data=body, headers=headers) as answer:
        problem = await answer.json(content_type=None)
        assert (answer.status, problem["retryable"]) == (400, False), problem
    assert [one["id"] for one in (await server.get("/v1/approvals"))["approvals"]] == [open_.id]


async def test_jobs_are_listed_with_their_next_run(quiet: Served) -> None:
    key = make_key("default", "demo", [("cron", "nightly")])
    job = CronJob("default", "nightly", "demo", "nightly", key.text, "0 3 * * *", "UTC", next_due=1.9e9)
    await quiet.store.cron.declare([job])
    [listed] = JobList.model_validate(await quiet.get("/v1/cron")).jobs
    assert (listed.job, listed.schedule, listed.next_due, listed.paused) == ("nightly", "0 3 * * *", 1.9e9, False)
