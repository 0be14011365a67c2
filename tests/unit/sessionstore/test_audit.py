"""The audit: a row that was deleted or doubled shows, and an engine's own work always balances."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessionstore.audit import AuditReport, Gap, audit
from sessionstore.inbox import Archived
from tests.integration.cli.story import PAPER, fill, message, opened, told

Plant = Callable[..., int]

HOUR_S = 3600


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("past") / "s.sqlite"
    fill(path, *(message(text, text, route=PAPER) for text in ("hello", "deploy", "boom", "again")))
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


def audited(
    path: Path, tenant: str | None = None, since: float | None = None, until: float | None = None
) -> AuditReport:
    async def work() -> AuditReport:
        async with opened(path) as store:
            return await audit(store.reads, tenant, since, until)

    return asyncio.run(work())


def test_the_engines_own_work_balances(path: Path) -> None:
    report = audited(path)
    assert (report.balanced, list(report.findings())) == (True, [])
    accepted, intended = report.balances
    assert (accepted.counted, accepted.rows) == (4, {"settled": 3, "dead": 1})
    assert (intended.counted, sum(intended.rows.values())) == (3, 3)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            "DELETE FROM inbox WHERE event_id = 'hello'",
            "1 event missing from the inbox (4 accepted, 0 pruned, 3 stored)",
        ),
        ("DELETE FROM inbox", "4 events missing from the inbox (4 accepted, 0 pruned, 0 stored)"),
        ("DELETE FROM outbox WHERE pos = 2", "1 effect missing from the outbox (3 intended, 0 pruned, 2 stored)"),
        (
            "DELETE FROM counter WHERE name = 'intended'",
            "3 effects in the outbox that nobody counted (0 intended, 0 pruned, 3 stored)",
        ),
    ],
)
def test_a_planted_imbalance_is_named(path: Path, plant: Plant, statement: str, said: str) -> None:
    assert plant(statement)
    assert list(audited(path).findings()) == [said]


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("seq = 1", "at its beginning"),
        ("seq = 7", "in the middle"),
        ("seq = (SELECT max(seq) FROM transcript)", "at its end"),
    ],
)
def test_a_deleted_transcript_event_is_placed(path: Path, plant: Plant, where: str, said: str) -> None:
    assert plant(f"DELETE FROM transcript WHERE {where}") == 1
    (finding,) = audited(path).findings()
    assert finding.startswith("1 event of ")
    assert f"missing {said} of the transcript of agent:clerk/desk:1" in finding


def test_a_gap_tells_every_place_that_it_has() -> None:
    gap = Gap("t", "agent:a/b:1", seq=10, rows=5, first=2, last=8)
    assert (
        gap.says
        == "5 events of 10 missing at its beginning and in the middle and at its end of the transcript of agent:a/b:1"
    )
    assert Gap("t", "agent:a/b:1", 10, 0, 0, 0).says.startswith("10 events of 10 missing at its beginning")
    assert (
        Gap("t", "agent:a/b:1", 3, 4, 1, 4).says == "the transcript of agent:a/b:1 goes on to 4, its session ends at 3"
    )


def test_a_head_that_is_due_without_a_row_is_told(path: Path, plant: Plant) -> None:
    plant("UPDATE session SET due = 5")
    assert list(audited(path).findings()) == ["agent:clerk/desk:1 is due, but has no row queued"]


def test_rows_that_nothing_will_wake_are_told(path: Path, plant: Plant) -> None:
    async def put() -> None:
        async with opened(path) as store:
            await store.inbox.put([message("late", "late")])

    asyncio.run(put())
    assert audited(path).balanced
    plant("UPDATE session SET due = NULL")
    assert list(audited(path).findings()) == [
        "agent:clerk/desk:1 has 1 row queued, but is not due: nothing will run them"
    ]


def test_a_tenant_is_audited_apart(path: Path, plant: Plant) -> None:
    async def more() -> None:
        async with opened(path) as store:
            await told(store, message("hi", "1", tenant="acme"))

    asyncio.run(more())
    plant("DELETE FROM inbox WHERE tenant = 'default'")
    assert audited(path, "acme").balanced
    assert not audited(path, "default").balanced
    assert [b.counted for b in audited(path, "acme").balances] == [1, 0]


def test_a_range_is_widened_to_whole_hours(path: Path, plant: Plant) -> None:
    connection = sqlite3.connect(path)
    (at,) = connection.execute("SELECT max(received_at) FROM inbox").fetchone()
    connection.close()
    hour = int(at) // HOUR_S
    report = audited(path, None, at - 1, at + 1)
    assert report.since_hour in (hour, hour - 1)
    assert report.until_hour in (hour + 1, hour + 2)
    assert report.balanced
    plant("DELETE FROM inbox WHERE event_id = 'hello'")
    assert not audited(path, None, at - 1, at + 1).balanced
    assert audited(path, None, None, at - 2 * HOUR_S).balances[0].counted == 0


def test_events_that_an_archived_session_refused_balance(path: Path, plant: Plant) -> None:
    plant("UPDATE session SET status = 'archived'")

    async def put() -> None:
        async with opened(path) as store:
            (result,) = await store.inbox.put([message("late", "late")])
            assert isinstance(result, Archived)

    asyncio.run(put())
    assert audited(path).balanced
