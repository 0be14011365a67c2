"""Cron jobs on a real store: declared once, fired once, late by their policy, in their own time zone."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from router.cron import CronLoop
from sessionstore.errors import BadSettings
from sessionstore.inbox import SessionRef
from sessionstore.sqlite.store import SqliteStore
from turnline import Agent, Turn

START = datetime(2027, 3, 26, 12, 0, tzinfo=UTC).timestamp()


class SetClock:
    """Stands where a test puts it."""

    def __init__(self) -> None:
        self.at = START

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at - START


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def store(tmp_path: Path, clock: SetClock) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "cron.sqlite", clock)
    yield opened
    await opened.close()


def agents(schedule: str = "0 9 * * *", tz: str = "Europe/Berlin", **options: str) -> dict[str, Agent]:
    agent = Agent("ops")

    @agent.cron(schedule, tz=tz, **options)
    async def report(turn: Turn) -> None:
        """Never run here."""

    return {"ops": agent}


def loop(store: SqliteStore, clock: SetClock, agents_: dict[str, Agent]) -> CronLoop:
    return CronLoop(store.cron, agents_, clock, tenant="default")


async def fired(store: SqliteStore) -> list[str]:
    """The nominal instants of all rows, in inbox order."""
    rows = await store.inbox.queued(SessionRef("default", "agent:ops/cron:report"), 100)
    return [row.event.id for row in rows]


async def test_two_schedulers_fire_a_slot_once_and_summer_time_moves_it_in_utc(
    store: SqliteStore, clock: SetClock
) -> None:
    first, second = loop(store, clock, agents()), loop(store, clock, agents())
    await first.declare()
    await second.declare()
    for day in (27, 28, 29):
        clock.at = datetime(2027, 3, day, 9, 30, tzinfo=UTC).timestamp()
        made = [await first.fire_due(), await second.fire_due()]
        assert sorted(made) == [0, 1]
    # The clocks of Berlin go forward in the night before the 28th.
    assert await fired(store) == ["2027-03-27T08:00:00Z", "2027-03-28T07:00:00Z", "2027-03-29T07:00:00Z"]


@pytest.mark.parametrize(
    ("misfire", "slots"),
    [
        ("skip", []),
        ("run_once", ["2027-03-29T07:00:00Z"]),
        ("run_all", ["2027-03-27T08:00:00Z", "2027-03-28T07:00:00Z", "2027-03-29T07:00:00Z"]),
    ],
)
async def test_three_days_without_a_scheduler_go_by_the_jobs_policy(
    store: SqliteStore, clock: SetClock, misfire: str, slots: list[str]
) -> None:
    await loop(store, clock, agents(misfire=misfire)).declare()
    clock.at = datetime(2027, 3, 29, 20, 0, tzinfo=UTC).timestamp()
    again = loop(store, clock, agents(misfire=misfire))
    await again.declare()
    await again.fire_due()
    assert await fired(store) == slots
    assert await again.fire_due() == 0


async def test_declaring_again_moves_no_due_time_and_a_changed_job_gets_a_new_revision(
    store: SqliteStore, clock: SetClock
) -> None:
    [before] = await loop(store, clock, agents()).declare()
    clock.at += 5_000
    [same] = await loop(store, clock, agents()).declare()
    assert same == before
    [changed] = await loop(store, clock, agents("0 10 * * *")).declare()
    assert changed.revision == before.revision + 1
    assert changed.next_due != before.next_due


async def test_a_job_that_the_app_no_longer_declares_does_not_fire(store: SqliteStore, clock: SetClock) -> None:
    await loop(store, clock, agents()).declare()
    clock.at += 86_400
    other = loop(store, clock, {"ops": Agent("ops")})
    await other.declare()
    assert await other.fire_due() == 0
    mine = loop(store, clock, agents())
    await mine.declare()
    assert await mine.fire_due() == 1


@pytest.mark.parametrize(
    ("schedule", "options"),
    [
        ("0 9 * *", {}),
        ("0 0 31 2 *", {}),
        ("0 9 * * *", {"tz": "Mars/Olympus"}),
        ("0 9 * * *", {"misfire": "whenever"}),
        ("0 9 * * *", {"overlap": "whenever"}),
        ("0 9 * * *", {"session": "agent:other/cron:report"}),
    ],
)
async def test_a_job_that_cannot_be_is_named_before_anything_is_stored(
    store: SqliteStore, clock: SetClock, schedule: str, options: dict[str, str]
) -> None:
    with pytest.raises(BadSettings, match=r"ops\.report"):
        await loop(store, clock, agents(schedule, **options)).declare()
    assert await store.cron.jobs() == []
