"""`turnline audit`: counters against rows, on live data."""

import time
from typing import Annotated, Any

import typer
from rich.text import Text

from sessionstore.audit import AuditReport, hour_text
from sessionstore.audit import audit as compared
from sessionstore.reads import Balance
from turnline.cli.opening import settings_for, with_store
from turnline.cli.options import DataOption, JsonOption, StoreOption, TenantOption
from turnline.cli.screen import clean, put_json, say, show
from turnline.cli.times import moment

FINDINGS_SHOWN_MAX = 50


def audit(
    ctx: typer.Context,
    tenant: TenantOption = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="ISO time (UTC without a zone), or 2h, 3d ago.")
    ] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="WHEN", help="As --since.")] = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Prove that nothing accepted or intended has vanished; exit code 1 where something has.

    Counters are kept by the hour, so a range is widened to whole hours. Transcripts and heads are checked whole.
    """
    now = time.time()
    start, end = (None if text is None else moment(text, now) for text in (since, until))
    settings = settings_for(ctx, data, store)
    report = with_store(settings, lambda opened: compared(opened.store.reads, tenant, start, end))
    if as_json:
        put_json(_plain(report))
    else:
        _show(report)
    if not report.balanced:
        raise typer.Exit(1)


def _show(report: AuditReport) -> None:
    for balance in report.balances:
        show(_equation(balance))
    if report.since_hour is not None or report.until_hour is not None:
        say(f"counted {_range(report)}; a range is widened to whole hours", style="dim")
    findings = list(report.findings())
    for finding in findings[:FINDINGS_SHOWN_MAX]:
        show(Text.assemble(("✗ ", "bold red"), clean(finding)))
    if len(findings) > FINDINGS_SHOWN_MAX:
        say(f"and {len(findings) - FINDINGS_SHOWN_MAX:,} more; --json has them all")
    if not findings:
        show(Text("✓ Everything is accounted for; no transcript has a gap.", style="green"))


def _equation(balance: Balance) -> Text:
    terms = [
        *((n, name) for name, n in sorted(balance.rows.items())),
        *([(balance.pruned, "pruned")] * bool(balance.pruned)),
    ]
    right = " + ".join(f"{n:,} {name}" for n, name in terms) or "0"
    sign, style = ("=", "") if not balance.missing else ("≠", "red")
    return Text.assemble((f"{balance.counted:,} {balance.name} {sign} ", "bold"), (right, style))


def _range(report: AuditReport) -> str:
    parts = [f"from {hour_text(report.since_hour)}"] if report.since_hour is not None else []
    parts += [f"to {hour_text(report.until_hour)}"] if report.until_hour is not None else []
    return " ".join(parts)


def _plain(report: AuditReport) -> dict[str, Any]:
    hours = (report.since_hour, report.until_hour)
    since, until = (None if hour is None else hour_text(hour) for hour in hours)
    return {
        "balanced": report.balanced,
        "tenant": report.tenant,
        "since": since,
        "until": until,
        "balances": [_balance(balance) for balance in report.balances],
        "gaps": [
            {"tenant": g.tenant, "session": g.session, "seq": g.seq, "rows": g.rows, "first": g.first, "last": g.last}
            for g in report.gaps
        ],
        "misled": [{"tenant": m.tenant, "session": m.session, "queued": m.queued, "due": m.due} for m in report.misled],
        "findings": list(report.findings()),
    }


def _balance(balance: Balance) -> dict[str, Any]:
    shown = {"name": balance.name, "counted": balance.counted, "rows": balance.rows}
    return {**shown, "pruned": balance.pruned, "missing": balance.missing}
