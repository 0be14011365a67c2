"""Operator actions over HTTP: done under a running engine, previewed, refused with a reason, and for whom."""

from pathlib import Path
from typing import Any

import pytest

from router.http.actionschema import ActedView
from router.keys import make_key
from tests.integration.api.served import Served, path_of, scoped_token, served

KEY = make_key("default", "demo", [("api", "ci"), ("source", "s")])
FORK = make_key("default", "demo", [("api", "ci"), ("source", "fork")])


async def act(server: Served, action: str, key: str = KEY.text, **body: Any) -> ActedView:
    status, done = await server.ask("POST", f"{path_of(key)}/{action}", body=body)
    assert status == 200, done
    return ActedView.model_validate(done)


async def refused(server: Served, action: str, **body: Any) -> tuple[int, str]:
    status, problem = await server.ask("POST", f"{path_of(KEY.text)}/{action}", body=body)
    return status, problem["code"]


async def status_of(server: Served, key: str = KEY.text) -> str:
    return str((await server.get(path_of(key)))["status"])


async def test_a_paused_session_keeps_what_comes_and_runs_it_afterwards(server: Served) -> None:
    await server.publish(KEY)
    await server.turn_closed(KEY.text)
    assert (await act(server, "pause", dry_run=True)).dry_run
    assert await status_of(server) == "active"
    done = await act(server, "pause", reason="look first")
    assert (done.action, done.session_key) == ("pause", KEY.text)
    assert await status_of(server) == "paused"
    await server.publish(KEY, "later", event_id="e2")
    assert (await server.get(path_of(KEY.text)))["queued"][0]["text"] == "later"
    assert await refused(server, "pause") == (409, "conflict")
    await act(server, "unpause")
    told = await server.turn_closed(KEY.text, turns=2)
    assert [event["body"]["text"] for event in told if event["type"] == "message.out"] == ["heard hello", "heard later"]
    assert ("admin", "session.pause") in [(x["actor"], x["action"]) for x in await server.store.reads.trail()]


async def test_a_turn_under_way_is_cancelled_and_commits_nothing(server: Served) -> None:
    await server.publish(KEY, "wait")
    while not (await server.get(path_of(KEY.text)))["lease"]:
        pass
    done = await act(server, "cancel")
    assert done.dropped == 1
    server.gate.set()
    await server.publish(KEY, "next", event_id="e2")
    told = await server.turn_closed(KEY.text, turns=2)  # that of the cancel command, and the next message's
    assert [event["body"]["text"] for event in told if event["type"] == "message.out"] == ["heard next"]


async def test_an_edit_a_rewind_and_a_fork(server: Served) -> None:
    await server.publish(KEY)
    await server.turn_closed(KEY.text)
    [first] = (await server.get(f"{path_of(KEY.text)}/checkpoints"))["checkpoints"]
    version = (await act(server, "edit", state={"mood": "good"})).version
    assert (await server.get(path_of(KEY.text)))["state"] == {"mood": "good"}
    await act(server, "edit", ops=[{"op": "add", "path": "/n", "value": 1}], expected_version=version)
    assert await refused(server, "edit", state={}, expected_version=version) == (409, "conflict")
    assert await refused(server, "edit", ops=[{"op": "add", "path": "/no/such", "value": 1}]) == (400, "bad_input")
    assert await refused(server, "edit", state={}, ops=[]) == (400, "bad_input")
    shown = await act(server, "rewind", to_seq=first["seq"], dry_run=True)
    assert shown.preview is not None
    assert (await server.get(path_of(KEY.text)))["state"] == {"mood": "good", "n": 1}
    await act(server, "fork", at_seq=first["seq"], new_key=FORK.text)
    await act(server, "rewind", to_seq=first["seq"])
    assert (await server.get(path_of(KEY.text)))["state"] == {}
    assert await status_of(server, FORK.text) == "active"
    assert await refused(server, "fork", at_seq=first["seq"], new_key=FORK.text) == (409, "conflict")
    assert await refused(server, "rewind", to_seq=first["seq"] + 1) == (400, "bad_input")
    assert await refused(server, "rewind", to_seq=10_000) == (404, "not_found")


@pytest.mark.parametrize("body", [{"reason": 3}, {"more": 1}, [], {"reason": "x" * 501}])
async def test_a_body_that_cannot_be_used_changes_nothing(server: Served, body: Any) -> None:
    await server.publish(KEY)
    await server.turn_closed(KEY.text)
    status, problem = await server.ask("POST", f"{path_of(KEY.text)}/kill", body=body)
    assert (status, problem["code"]) == (400, "bad_input")
    assert await status_of(server) == "active"


async def test_only_a_writer_acts_and_only_in_its_own_namespace(tmp_path: Path) -> None:
    tokens = [scoped_token("reader", "ci", "read"), scoped_token("writer", "ci", "read", "write")]
    other = make_key("default", "demo", [("api", "else"), ("source", "s")])
    async with served(tmp_path, tokens=tokens) as server:
        for key in (KEY, other):
            await server.publish(key)
            await server.turn_closed(key.text)
        path = path_of(KEY.text)
        assert (await server.ask("POST", f"{path}/kill", token="", body={}))[0] == 401
        assert (await server.ask("POST", f"{path}/kill", token="reader", body={}))[0] == 403
        assert (await server.ask("POST", f"{path_of(other.text)}/kill", token="writer", body={}))[0] == 403
        seq = (await server.get(f"{path}/checkpoints"))["checkpoints"][0]["seq"]
        body = {"at_seq": seq, "new_key": other.text.replace("source:s", "source:new")}
        assert (await server.ask("POST", f"{path}/fork", token="writer", body=body))[0] == 403
        assert (await server.ask("POST", f"{path}/pause", token="writer", body={}))[0] == 200
        assert [await status_of(server), await status_of(server, other.text)] == ["paused", "active"]
