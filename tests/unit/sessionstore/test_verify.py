"""Verify: whatever was changed behind the store's back is found, and the first event that differs is named."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from consumers.agent import Agent
from consumers.compose import compose
from consumers.drafting import TurnMeta, turn_id_for
from consumers.intents import Intents
from consumers.loaded import loaded_from
from sessionstore.inbox import SessionRef
from sessionstore.leases import Held
from sessionstore.record import canonical, checksum
from sessionstore.sqlite.store import SqliteStore
from sessionstore.verify import Verdict, What, verify_all, verify_session
from tests.integration.cli.story import KEY, PAPER, REF, fill, message, opened, running, settled, told

Plant = Callable[..., int]

TURNS = ("hello", "deploy", "world", "boom", "again")


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("past") / "s.sqlite"
    fill(path, *(message(text, str(n), route=PAPER) for n, text in enumerate(TURNS)))
    sqlite3.connect(path).execute("PRAGMA wal_checkpoint(TRUNCATE)").connection.close()
    return path


@pytest.fixture
def path(past: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(past, tmp_path / "s.sqlite"))


@pytest.fixture
def plant(path: Path) -> Plant:
    def planted(statement: str, *parameters: Any) -> int:
        connection = sqlite3.connect(path)
        try:
            with connection:
                return connection.execute(statement, parameters).rowcount
        finally:
            connection.close()

    return planted


def rows(path: Path) -> list[tuple[int, str, str, Any]]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT seq, type, turn_id, body FROM transcript ORDER BY seq").fetchall()
    connection.close()
    return [(seq, type_, turn_id, orjson.loads(body)) for seq, type_, turn_id, body in found]


def seq_of(path: Path, type_: str, nth: int = 0) -> int:
    return [seq for seq, kind, _, _ in rows(path) if kind == type_][nth]


def verified(path: Path, ref: SessionRef = REF, **limits: int) -> Verdict:
    async def work() -> Verdict:
        async with opened(path) as store:
            return await verify_session(store.reads, ref, **limits)

    return asyncio.run(work())


def first(path: Path) -> tuple[What, int]:
    difference = verified(path).differences[0]
    return difference.what, difference.seq


@pytest.mark.parametrize("page_rows_max", [1, 3, 200])
def test_what_the_engine_wrote_agrees_in_pages_of_any_size(path: Path, page_rows_max: int) -> None:
    verdict = verified(path, page_rows_max=page_rows_max)
    assert verdict.agrees
    assert (verdict.turns, verdict.events, verdict.seq) == (len(TURNS), len(rows(path)), len(rows(path)))


def test_an_unknown_session_and_one_that_has_not_run_agree(path: Path) -> None:
    async def put() -> None:
        async with opened(path) as store:
            await store.inbox.put([message("hi", "x", key="agent:clerk/desk:2")])

    asyncio.run(put())
    for key in ("agent:clerk/desk:2", "agent:clerk/desk:3"):
        assert verified(path, SessionRef("default", key)).agrees


def test_an_edited_record_is_found_by_its_section(path: Path, plant: Plant) -> None:
    connection = sqlite3.connect(path)
    record = orjson.loads(connection.execute("SELECT body FROM record").fetchone()[0])
    connection.close()
    record["state"]["count"] = 100
    body = canonical(record)
    plant("UPDATE record SET body = ?, checksum = ?", body, checksum(body))
    (difference,) = verified(path).differences
    assert (difference.what, difference.says.endswith("it differs in state")) == (What.RECORD, True)


def test_a_record_without_its_checksum_is_found_even_if_its_body_is_right(path: Path, plant: Plant) -> None:
    plant("UPDATE record SET checksum = 'x'")
    (difference,) = verified(path).differences
    assert "does not fit its checksum" in difference.says


def test_an_edited_transcript_event_is_pinned_to_its_turn(path: Path, plant: Plant) -> None:
    seq = seq_of(path, "state.patched", 1)
    ops = [{"op": "replace", "path": "/count", "value": 9}, {"op": "add", "path": "/words/-", "value": "world"}]
    plant("UPDATE transcript SET body = ? WHERE seq = ?", orjson.dumps({"ops": ops}), seq)
    difference = verified(path).differences[0]
    closed = next(row for row in rows(path) if row[1] == "turn.closed" and row[0] > seq)
    assert (difference.what, difference.seq, difference.turn_id) == (What.CHECKSUM, closed[0], closed[2])


def test_an_edited_text_that_changes_no_record_is_pinned_to_its_turn(path: Path, plant: Plant) -> None:
    seq = seq_of(path, "message.in", 1)
    body = {**rows(path)[seq - 1][3], "data": {"text": "never said"}}
    plant("UPDATE transcript SET body = ? WHERE seq = ?", orjson.dumps(body), seq)
    difference = verified(path).differences[0]
    closed = next(row for row in rows(path) if row[1] == "turn.closed" and row[0] > seq)
    assert (difference.what, difference.seq) == (What.CHECKSUM, closed[0])


def test_an_edited_closing_checksum_is_found(path: Path, plant: Plant) -> None:
    seq = seq_of(path, "turn.closed", 2)
    body = {**rows(path)[seq - 1][3], "sha256": "0" * 64}
    plant("UPDATE transcript SET body = ? WHERE seq = ?", orjson.dumps(body), seq)
    assert first(path) == (What.CHECKSUM, seq)


@pytest.mark.parametrize("seq", [1, 6, None], ids=["first", "middle", "last"])
def test_a_deleted_event_is_named_by_its_number(path: Path, plant: Plant, seq: int | None) -> None:
    seq = seq or len(rows(path))
    assert plant("DELETE FROM transcript WHERE seq = ?", seq) == 1
    assert first(path) == (What.GAP, seq)
    assert verified(path).differences[0].says == f"event {seq} is missing"


def swap(plant: Plant, a: int, b: int) -> None:
    plant("UPDATE transcript SET seq = -1 WHERE seq = ?", a)
    plant("UPDATE transcript SET seq = ? WHERE seq = ?", a, b)
    plant("UPDATE transcript SET seq = ? WHERE seq = -1", b)


def test_a_pair_swapped_across_turns_is_found_at_the_first_of_them(path: Path, plant: Plant) -> None:
    a, b = seq_of(path, "message.in", 0), seq_of(path, "message.in", 2)
    swap(plant, a, b)
    assert first(path) == (What.TURN, a + 1)


def test_a_pair_swapped_inside_a_turn_is_found_by_its_checksum(path: Path, plant: Plant) -> None:
    opened_at, closed_at = seq_of(path, "wait.opened"), seq_of(path, "turn.closed", 1)
    swap(plant, seq_of(path, "session.status"), closed_at)
    what, seq = first(path)
    assert what in (What.CHECKSUM, What.TURN)
    assert opened_at < seq <= closed_at


def test_an_unknown_type_is_told_as_a_newer_version(path: Path, plant: Plant) -> None:
    plant("UPDATE transcript SET type = 'memory.woven' WHERE seq = 3")
    difference = verified(path).differences[0]
    assert (difference.what, difference.seq, difference.type) == (What.UNKNOWN_TYPE, 3, "memory.woven")
    assert "newer version" in difference.says


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"ops":[{"op":"remove","path":"/nothing"}]}', b'{"ops":4}'])
def test_a_body_that_cannot_be_applied_is_a_misfit_and_no_traceback(path: Path, plant: Plant, body: bytes) -> None:
    seq = seq_of(path, "state.patched", 1)
    plant("UPDATE transcript SET body = ? WHERE seq = ?", body, seq)
    assert first(path) == (What.MISFIT, seq)


def test_an_event_past_the_end_is_found(path: Path, plant: Plant) -> None:
    seq = len(rows(path)) + 1
    plant(
        "INSERT INTO transcript (tenant, session, seq, epoch, type, at, turn_id, body) "
        "VALUES ('default', ?, ?, 0, 'message.in', 0, 'x', '{}')",
        KEY,
        seq,
    )
    assert first(path) == (What.HEAD, seq)


def test_a_deleted_record_and_a_head_set_back_are_found(path: Path, plant: Plant) -> None:
    plant("UPDATE session SET seq = 4")
    assert first(path)[0] is What.HEAD
    plant("DELETE FROM record")
    assert not verified(path).agrees


def test_only_the_first_event_that_differs_is_named(path: Path, plant: Plant) -> None:
    plant("DELETE FROM transcript WHERE seq = 9")
    plant("UPDATE transcript SET type = 'memory.woven' WHERE seq = 3")
    assert [d.seq for d in verified(path).differences] == [3]


async def snapshot_turns(store: SqliteStore, turns: int) -> None:
    """Turns that each keep a full checkpoint, through the store's own commit."""
    for n in range(turns):
        await store.inbox.put([message(f"s{n}", f"s{n}", key="agent:clerk/desk:5")])
        (held,) = await store.leases.acquire([SessionRef("default", "agent:clerk/desk:5")], "test", 30.0)
        assert isinstance(held, Held)
        loaded = loaded_from(held)
        members = await store.inbox.queued(held.lease.ref, 1)
        meta = TurnMeta(turn_id_for(loaded, members[0]), "message", "1", 1, 0.0, 0.0, None, None)
        turn = compose(loaded, members, meta, Intents(), {"n": n}).commit
        await store.commits.commit([replace(turn, snapshot=True)])
        await store.leases.release([held.lease])


def test_an_edited_snapshot_is_found_and_the_others_are_not(path: Path, plant: Plant) -> None:
    async def work() -> None:
        async with opened(path) as store:
            await snapshot_turns(store, 3)

    asyncio.run(work())
    ref = SessionRef("default", "agent:clerk/desk:5")
    assert verified(path, ref).agrees
    plant("UPDATE checkpoint SET body = '{}' WHERE seq = 6")
    assert [(d.what, d.seq) for d in verified(path, ref).differences] == [(What.CHECKPOINT, 6), (What.CHECKPOINT, 6)]


def test_where_retention_took_the_beginning_folding_starts_at_the_oldest_checkpoint(path: Path, plant: Plant) -> None:
    async def work() -> None:
        async with opened(path) as store:
            await snapshot_turns(store, 3)

    asyncio.run(work())
    ref = SessionRef("default", "agent:clerk/desk:5")
    plant("DELETE FROM transcript WHERE session = ? AND seq <= 6", ref.session)
    plant("DELETE FROM checkpoint WHERE seq < 6")
    verdict = verified(path, ref)
    assert (verdict.agrees, verdict.start, verdict.events) == (True, 6, 3)
    plant("UPDATE checkpoint SET checksum = 'x' WHERE seq = 6")
    assert not verified(path, ref).agrees


def test_all_sessions_are_reported_and_one_bad_one_hides_no_other(path: Path, plant: Plant) -> None:
    async def more() -> None:
        async with opened(path) as store:
            await told(store, *(message("hi", str(n), key=f"agent:clerk/desk:{n}", tenant="acme") for n in range(3)))

    asyncio.run(more())
    plant("DELETE FROM transcript WHERE session = 'agent:clerk/desk:1' AND tenant = 'acme' AND seq = 1")

    async def work(tenant: str | None) -> dict[tuple[str, str], bool]:
        async with opened(path) as store:
            return {(v.ref.tenant, v.ref.session): v.agrees async for v in verify_all(store.reads, tenant)}

    verdicts = asyncio.run(work(None))
    assert (len(verdicts), [ref for ref, agrees in verdicts.items() if not agrees]) == (
        4,
        [("acme", "agent:clerk/desk:1")],
    )
    assert len(asyncio.run(work("acme"))) == 3


async def test_a_session_that_commits_all_the_while_agrees_at_every_moment(path: Path) -> None:
    quick: Agent[Any] = Agent("clerk")

    @quick.on("message")
    async def count(turn: Any) -> None:
        turn.state["n"] = turn.state.get("n", 0) + 1

    async with opened(path) as store, running(store, quick):
        await store.inbox.put([message("x", f"c{n}", key="agent:clerk/desk:6") for n in range(200)])
        ref = SessionRef("default", "agent:clerk/desk:6")
        verdicts = []
        while not await settled(store):
            verdicts.append(await verify_session(store.reads, ref, page_rows_max=50))
        verdicts.append(await verify_session(store.reads, ref, page_rows_max=2))
    assert verdicts[-1].turns == 200
    assert all(verdict.agrees for verdict in verdicts)
