"""Cron jobs on SQLite: the claim of a firing and its inbox row are one transaction."""

from collections.abc import Sequence
from dataclasses import replace

import orjson

from sessionstore.clock import Clock
from sessionstore.inbox import Accepted
from sessionstore.sqlite.arrivals import arrive
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Database, Transaction
from sessionstore.sqlite.rows import cron_from
from sessionstore.timer import CronFire, CronJob


class SqliteCron:
    """Declared jobs and their firings."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def declare(self, jobs: Sequence[CronJob]) -> list[CronJob]:
        """Reconcile, idempotently: an unchanged job keeps its next due time, a changed one gets a new revision."""
        return await self._db.write(lambda tx: [_declare(tx, job) for job in jobs])

    async def jobs(self, tenant: str | None = None) -> list[CronJob]:
        """All jobs, by tenant and name."""
        return await self._db.read(lambda tx: [cron_from(row) for row in tx.all("cron_list", (tenant,))])

    async def next_due(self) -> float | None:
        """When the next job is due (unix seconds)."""
        row = await self._db.read(lambda tx: tx.one("cron_next_due"))
        return None if row is None else row[0]

    async def fire(self, fires: Sequence[CronFire]) -> list[list[Accepted] | None]:
        """Claim and write; None where another scheduler was first. Durable on return."""
        now = self._clock.now()

        def operation(tx: Transaction) -> list[list[Accepted] | None]:
            tally = Tally()
            results = [_fire(tx, tally, item, now) for item in fires]
            tally.flush(tx)
            return results

        return await self._db.write(operation)


def _declare(tx: Transaction, job: CronJob) -> CronJob:
    row = tx.one("cron_get", (job.tenant, job.job))
    if row is not None:
        stored = cron_from(row)
        same = replace(
            job,
            next_due=stored.next_due,
            last_nominal=stored.last_nominal,
            paused=stored.paused,
            revision=stored.revision,
        )
        if same == stored:
            return stored
        job = replace(job, last_nominal=stored.last_nominal, paused=stored.paused, revision=stored.revision + 1)
    tx.run(
        "cron_put",
        (
            job.tenant,
            job.job,
            job.agent,
            job.handler,
            job.session,
            job.schedule,
            job.tz,
            job.misfire,
            job.overlap,
            job.grace_s,
            orjson.dumps(job.data),
            job.next_due,
            job.last_nominal,
            int(job.paused),
            job.revision,
        ),
    )
    tx.notice.waits = True
    return job


def _fire(tx: Transaction, tally: Tally, item: CronFire, now: float) -> list[Accepted] | None:
    advanced = tx.run("cron_advance", (item.next_due, item.last_nominal, item.tenant, item.job, item.expected_due))
    if advanced.rowcount == 0:
        return None
    for nominal in item.skipped:
        tx.run("cron_fire_insert", (item.tenant, item.job, nominal, now, "skipped"))
    accepted = []
    for event, nominal in zip(item.events, item.nominals, strict=True):
        if not _claim(tx, item, nominal, now):
            continue
        row = arrive(tx, tally, event, now)
        if row is not None:
            accepted.append(row)
    return accepted


def _claim(tx: Transaction, item: CronFire, nominal: str, now: float) -> bool:
    if item.overlap == "skip" and item.events:
        event = item.events[0]
        if tx.one("cron_pending", (event.tenant, event.session, event.source)) is not None:
            tx.run("cron_fire_insert", (item.tenant, item.job, nominal, now, "overlap"))
            return False
    return tx.run("cron_fire_insert", (item.tenant, item.job, nominal, now, "fired")).rowcount == 1
