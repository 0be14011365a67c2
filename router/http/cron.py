"""Cron jobs over HTTP: what runs by the clock, and when next."""

from typing import Any

from aiohttp import web

from router.http.caller import caller
from router.http.problems import json_response
from sessionstore.timer import CronJob


async def get_cron(request: web.Request) -> web.Response:
    """GET /v1/cron"""
    who = caller(request, "read")
    jobs = await who.services.store.cron.jobs(who.tenant)
    return json_response({"jobs": [job_view(job) for job in jobs if who.may_see(job.session)]})


def job_view(job: CronJob) -> dict[str, Any]:
    """A job as the API shows it."""
    return {
        "job": job.job,
        "agent": job.agent,
        "handler": job.handler,
        "session_key": job.session,
        "schedule": job.schedule,
        "tz": job.tz,
        "misfire": job.misfire,
        "overlap": job.overlap,
        "grace_s": job.grace_s,
        "next_due": job.next_due,
        "last_nominal": job.last_nominal,
        "paused": job.paused,
        "revision": job.revision,
    }
