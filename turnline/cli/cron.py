"""`turnline cron`: scheduled jobs."""

import dataclasses
import time

import typer
from rich.text import Text

from sessionstore.timer import CronJob
from turnline.cli.opening import settings_for, with_store
from turnline.cli.options import DataOption, JsonOption, StoreOption, TenantOption
from turnline.cli.screen import put_json, say, show, table
from turnline.cli.times import ago, stamp

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Scheduled jobs.")


@app.callback()
def cron() -> None:
    """Scheduled jobs."""


@app.command("list")
def list_jobs(
    ctx: typer.Context,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Jobs, with the last and the next time; times are shown in your zone, schedules hold in their own."""
    jobs = with_store(settings_for(ctx, data, store), lambda opened: opened.store.cron.jobs(tenant))
    if as_json:
        put_json({"jobs": [dataclasses.asdict(job) for job in jobs]})
        return
    if not jobs:
        say("No job is declared; `@agent.cron(...)` declares one when a server starts.")
        return
    now = time.time()
    columns = ("job", "agent", "schedule", "zone", "next", "last", "missed", "overlap")
    show(table(columns, (_row(job, now) for job in jobs), wraps=("job", "next", "zone")))


def _row(job: CronJob, now: float) -> tuple[str | Text, ...]:
    if job.paused:
        due: str | Text = Text("paused", style="yellow")
    else:
        due = f"{stamp(job.next_due)} ({ago(job.next_due, now)})" if job.next_due is not None else "never"
    return (job.job, job.agent, job.schedule, job.tz, due, ago(job.last_nominal, now), job.misfire, job.overlap)
