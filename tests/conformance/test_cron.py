"""Cron: a job's slot is claimed and its row written in one transaction, by one of any number of schedulers."""

import asyncio
from dataclasses import replace
from typing import Any

from sessionstore.event import Event, Kind
from sessionstore.inbox import SessionRef
from sessionstore.store import Store
from sessionstore.timer import CronFire, CronJob
from tests.conformance.places import Place
from tests.conformance.samples import TENANT, run_turn

KEY = "agent:a/cron:nightly"
REF = SessionRef(TENANT, KEY)
DUE = 1_800_000_000.0


def job(**changes: Any) -> CronJob:
    declared = CronJob(TENANT, "a.nightly", "a", "cron.nightly", KEY, "0 9 * * *", "UTC", next_due=DUE)
    return replace(declared, **changes)


def tick(nominal: str) -> Event:
    return Event(TENANT, "cron:a.nightly", nominal, "cron.nightly", KEY, "a", kind=Kind.CRON)


def fire(*nominals: str, due: float = DUE, **changes: Any) -> CronFire:
    fired = CronFire(TENANT, "a.nightly", due, due, due + 60, tuple(tick(n) for n in nominals), nominals)
    return replace(fired, **changes)


async def queued(store: Store) -> list[str]:
    return [row.event.id for row in await store.inbox.queued(REF, 100)]


async def test_a_declared_job_is_stored_as_declared(place: Place, store: Store) -> None:
    [stored] = await store.cron.declare([job()])
    assert stored == job()
    store = await place.reopen(store)
    assert await store.cron.jobs() == [job()]
    assert await store.cron.next_due() == DUE


async def test_declaring_again_changes_nothing(store: Store) -> None:
    await store.cron.declare([job()])
    await store.cron.fire([fire("n1")])
    [again] = await store.cron.declare([job()])
    assert (again.next_due, again.revision) == (DUE + 60, 1)


async def test_a_changed_job_gets_a_new_revision_and_due_time_and_keeps_its_last_firing(store: Store) -> None:
    await store.cron.declare([job()])
    await store.cron.fire([fire("n1")])
    [changed] = await store.cron.declare([job(schedule="0 10 * * *", next_due=DUE + 500)])
    assert (changed.revision, changed.next_due, changed.last_nominal) == (2, DUE + 500, DUE)


async def test_a_firing_becomes_a_row_and_moves_the_job_on(place: Place, store: Store) -> None:
    await store.cron.declare([job()])
    [rows] = await store.cron.fire([fire("n1")])
    assert rows is not None
    assert [a.row.event for a in rows] == [tick("n1")]
    store = await place.reopen(store)
    assert await queued(store) == ["n1"]
    assert await store.cron.next_due() == DUE + 60


async def test_of_many_schedulers_one_fires(place: Place, store: Store) -> None:
    await store.cron.declare([job()])
    other = place.open()
    results = await asyncio.gather(*(s.cron.fire([fire("n1")]) for s in [store, other] * 5))
    assert sorted([len(r) if r is not None else -1 for [r] in results]) == [-1] * 9 + [1]
    assert await queued(store) == ["n1"]


async def test_a_slot_that_fired_fires_never_again(store: Store) -> None:
    await store.cron.declare([job()])
    await store.cron.fire([fire("n1")])
    [rows] = await store.cron.fire([fire("n1", "n2", due=DUE + 60)])
    assert rows is not None
    assert [a.row.event.id for a in rows] == ["n2"]
    assert await queued(store) == ["n1", "n2"]


async def test_several_missed_slots_become_rows_in_order(store: Store) -> None:
    await store.cron.declare([job()])
    [rows] = await store.cron.fire([fire("n1", "n2", "n3", skipped=("n0",))])
    assert rows is not None
    assert [a.row.event.id for a in rows] == ["n1", "n2", "n3"]


async def test_a_paused_job_does_not_fire(store: Store) -> None:
    await store.cron.declare([job(paused=True)])
    assert await store.cron.next_due() is None
    assert await store.cron.fire([fire("n1")]) == [None]


async def test_with_overlap_skip_a_slot_is_passed_over_while_the_last_one_waits(store: Store) -> None:
    await store.cron.declare([job(overlap="skip")])
    await store.cron.fire([fire("n1", overlap="skip")])
    assert await store.cron.fire([fire("n2", due=DUE + 60, overlap="skip")]) == [[]]
    assert await queued(store) == ["n1"]
    await run_turn(store, REF)
    [rows] = await store.cron.fire([fire("n3", due=DUE + 120, overlap="skip")])
    assert rows is not None
    assert [a.row.event.id for a in rows] == ["n3"]


async def test_with_overlap_queue_slots_line_up(store: Store) -> None:
    await store.cron.declare([job()])
    await store.cron.fire([fire("n1")])
    await store.cron.fire([fire("n2", due=DUE + 60)])
    assert await queued(store) == ["n1", "n2"]


async def test_of_several_jobs_one_that_was_fired_elsewhere_disturbs_no_other(store: Store) -> None:
    other = replace(job(), job="a.other", session="agent:a/cron:other")
    await store.cron.declare([job(), other])
    await store.cron.fire([fire("n1")])
    tick_ = replace(tick("n1"), session="agent:a/cron:other", source="cron:a.other")
    results = await store.cron.fire([fire("n1"), replace(fire("n1"), job="a.other", events=(tick_,))])
    assert results[0] is None
    assert results[1] is not None
    assert len(results[1]) == 1
