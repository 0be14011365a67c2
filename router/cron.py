"""Cron: declared jobs fire into their sessions; the claim of a slot and its inbox row are one transaction.

Any number of schedulers may run this loop: a job advances only from the due time that the scheduler has seen, and a
slot, `(job, nominal UTC instant)`, is unique. What was missed while nothing ran goes by the job's misfire policy.
"""

import asyncio
from collections.abc import Mapping

import structlog

from consumers.agent import Agent, Job
from router.calendar import fire_id, misfire_of, next_after, parse_schedule, plan_fires
from router.keys import cron_key
from sessionstore.clock import Clock
from sessionstore.errors import BadSettings
from sessionstore.event import Event, Kind
from sessionstore.key import parse
from sessionstore.notice import Notice
from sessionstore.timer import Cron, CronFire, CronJob

log = structlog.get_logger(__name__)

# Never sleep longer: after a clock jump or another process's change the due times are read anew.
SLEEP_MAX_S = 15.0
OVERLAPS = ("queue", "skip")


def declared_jobs(agents: Mapping[str, Agent[object]], tenant: str, now: float) -> list[CronJob]:
    """The jobs that the app declares in code. Raises BadSettings naming the job that is wrong."""
    return [_declared(agent, job, tenant, now) for agent in agents.values() for job in agent.jobs.values()]


def _declared(agent: Agent[object], job: Job, tenant: str, now: float) -> CronJob:
    name = f"{agent.name}.{job.name}"
    schedule = parse_schedule(job.schedule, job.tz, where=f"cron job {name}")
    misfire_of(job.misfire, where=f"cron job {name}")
    if job.overlap not in OVERLAPS:
        raise BadSettings(f"cron job {name}: overlap {job.overlap!r} is unknown", hint=f"use {' or '.join(OVERLAPS)}")
    session = parse(job.session, tenant) if job.session else cron_key(tenant, agent.name, job.name)
    if session.agent != agent.name:
        raise BadSettings(
            f"cron job {name}: its session belongs to agent {session.agent!r}", hint="name one of its own"
        )
    return CronJob(
        tenant=tenant,
        job=name,
        agent=agent.name,
        handler=f"cron.{job.name}",
        session=session.text,
        schedule=job.schedule,
        tz=job.tz,
        misfire=job.misfire,
        overlap=job.overlap,
        grace_s=job.grace_s,
        next_due=next_after(schedule, now),
    )


class CronLoop:
    """Declares the app's jobs, then fires what is due until cancelled."""

    def __init__(self, cron: Cron, agents: Mapping[str, Agent[object]], clock: Clock, *, tenant: str) -> None:
        self._cron = cron
        self._agents = agents
        self._clock = clock
        self._tenant = tenant
        self._wake = asyncio.Event()
        self._declared: frozenset[str] = frozenset()

    def notice(self, notice: Notice) -> None:
        """Listener for the store: a job was changed."""
        if notice.waits:
            self._wake.set()

    async def declare(self) -> list[CronJob]:
        """Write the declared jobs; one that did not change keeps its next due time."""
        jobs = declared_jobs(self._agents, self._tenant, self._clock.now())
        self._declared = frozenset(job.job for job in jobs)
        return await self._cron.declare(jobs)

    async def run(self) -> None:
        """Fire until cancelled."""
        while True:
            self._wake.clear()
            try:
                await self.fire_due()
                due = await self._next_due()
            except Exception:
                log.exception("cron.failed")
                due = None
            sleep_s = SLEEP_MAX_S if due is None else min(max(due - self._clock.now(), 0.01), SLEEP_MAX_S)
            try:
                async with asyncio.timeout(sleep_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _next_due(self) -> float | None:
        jobs = await self._cron.jobs()
        return min((j.next_due for j in jobs if self._is_ours(j) and j.next_due is not None), default=None)

    def _is_ours(self, job: CronJob) -> bool:
        """A job that this app no longer declares, or that a newer one does, is not its to fire."""
        return job.tenant == self._tenant and job.job in self._declared and not job.paused

    def _fires(self, job: CronJob, now: float) -> bool:
        return self._is_ours(job) and job.next_due is not None and job.next_due <= now

    async def fire_due(self) -> int:
        """Fire all jobs that are due now; returns how many inbox rows this scheduler wrote."""
        now = self._clock.now()
        due = [j for j in await self._cron.jobs() if self._fires(j, now)]
        if not due:
            return 0
        results = await self._cron.fire([plan(job, now) for job in due])
        for job, rows in zip(due, results, strict=True):
            if rows is not None:
                log.info("cron.fired", job=job.job, session=job.session, rows=len(rows))
        return sum(len(rows) for rows in results if rows is not None)


def plan(job: CronJob, now: float) -> CronFire:
    """What a due job does at `now`: pure."""
    due = job.next_due if job.next_due is not None else now
    schedule = parse_schedule(job.schedule, job.tz, where=f"cron job {job.job}")
    # The due time itself is the first instant that nobody has planned yet.
    plan = plan_fires(schedule, due - 0.001, now, misfire_of(job.misfire), job.grace_s)
    events = tuple(_event(job, nominal, now) for nominal in plan.fires)
    return CronFire(
        tenant=job.tenant,
        job=job.job,
        expected_due=due,
        last_nominal=max((*plan.fires, *plan.skipped, due)),
        next_due=plan.next_nominal,
        events=events,
        nominals=tuple(fire_id(nominal) for nominal in plan.fires),
        skipped=tuple(fire_id(nominal) for nominal in plan.skipped),
        overlap=job.overlap,
    )


def _event(job: CronJob, nominal: float, now: float) -> Event:
    return Event(
        tenant=job.tenant,
        source=f"cron:{job.job}",
        id=fire_id(nominal),
        type=job.handler,
        session=job.session,
        agent=job.agent,
        data={"job": job.job, "nominal": fire_id(nominal), "late_s": round(now - nominal, 3), **job.data},
        time=nominal,
        kind=Kind.CRON,
    )
