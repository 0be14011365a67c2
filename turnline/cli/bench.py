"""`turnline bench`: throughput and latency of the whole path on this machine."""

import asyncio
from typing import Annotated

import orjson
import typer
import uvloop
from rich.console import Console
from rich.table import Table

from turnline.bench.run import Figures, measure
from turnline.logs import configure_logs

MODES = ("direct", "grouped")


def bench(
    sessions: Annotated[str, typer.Option(help="Concurrent sessions, separated by commas")] = "1,16,128",
    events: Annotated[int, typer.Option(help="Events a measurement", min=10)] = 4000,
    window: Annotated[int, typer.Option(help="Events that a session has open at once", min=1)] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document")] = False,
) -> None:
    """Measure events from accepted to delivered over HTTP, direct and grouped, then latency at a third of the best."""
    configure_logs("text", "error")
    counts = [int(n) for n in sessions.split(",")]
    rows, latency = uvloop.run(_measure(counts, events, window))
    if as_json:
        document = {"throughput": [_plain(r) for r in rows], "latency": _plain(latency)}
        typer.echo(orjson.dumps(document).decode())
        return
    console = Console()
    console.print(_table("Throughput, closed loop", rows))
    console.print(_table(f"Latency at a third of the best ({latency.per_s:.0f} events/s offered)", [latency]))


async def _measure(counts: list[int], events: int, window: int) -> tuple[list[Figures], Figures]:
    rows = []
    for count in counts:
        for mode in MODES:
            enough = min(events, 300 * count * window) if mode == "grouped" else min(events, 100 * count * window, 1500)
            rows.append(await measure(grouped=mode == "grouped", sessions=count, events=enough, window=window))
            await asyncio.sleep(0.1)
    best = max(rows, key=lambda r: r.per_s)
    rate = best.per_s / 3
    sessions = max(counts)
    return rows, await measure(grouped=True, sessions=sessions, events=int(rate * 5), window=window, rate=rate)


def _plain(r: Figures) -> dict[str, object]:
    return {name: getattr(r, name) for name in Figures.__slots__}


def _table(title: str, rows: list[Figures]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("mode", "sessions", "events"):
        table.add_column(name, justify="right")
    for name in ("events/s", "start p50 ms", "start p99 ms", "delivered p50 ms", "CPU s/1000"):
        table.add_column(name, justify="right")
    for r in rows:
        times = (f"{x * 1000:.2f}" for x in (r.start_p50_s, r.start_p99_s, r.delivered_p50_s))
        table.add_row(r.mode, str(r.sessions), str(r.events), f"{r.per_s:.0f}", *times, f"{r.cpu_s_per_1000:.2f}")
    return table
