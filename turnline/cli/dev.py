"""`turnline dev [APP]`: everything in one process, on one folder."""

import asyncio
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import structlog
import typer
import uvloop

from turnline.demo import demo_app
from turnline.ending import cut_off
from turnline.logs import configure_logs
from turnline.process import Process
from turnline.settings import Settings, load_settings, unknown_variables
from turnline.wiring import load_app

OPEN_FILES = 65_536
EXIT_S = 2.0  # for threads that handlers and tools have left behind


def dev(
    app: Annotated[str, typer.Argument(help="module:app or a .py file; the demo agent when left out")] = "",
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 picks a free one")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the store and its secrets")] = None,
    log: Annotated[str | None, typer.Option(help="text or json")] = None,
) -> None:
    """Run all roles in one process, with the web chat at /chat and the console at /."""
    settings = load_settings(port=port, host=host, data=data, log=log)
    configure_logs(settings.log, settings.log_level)
    for name in unknown_variables():
        structlog.get_logger(__name__).warning("settings.unknown_variable", name=name)
    target = app or settings.app
    loaded = load_app(target) if target else demo_app(settings.data)
    raise typer.Exit(_run(settings, Process(settings, loaded), target))


def more_open_files() -> None:
    """Each open page and stream is a file; many systems allow 1,024 unless a process asks for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _run(settings: Settings, process: Process, target: str) -> int:
    code, started = 1, asyncio.Event()
    more_open_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            code = 0 if runner.run(_serve(settings, process, target, started)) else 1
        finally:
            if started.is_set():
                cut_off(EXIT_S, code)
    return code


async def _serve(settings: Settings, process: Process, target: str, started: asyncio.Event) -> bool:
    serving = asyncio.ensure_future(process.serve(started))
    ready = asyncio.ensure_future(started.wait())
    await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    if started.is_set():
        with suppress(OSError):  # nobody reads it, or the disk that it goes to is full
            sys.stdout.write(banner(settings, process, target))
            sys.stdout.flush()
    return await serving


def banner(settings: Settings, process: Process, target: str) -> str:
    """What is where, for whoever has just started it."""
    shown = "127.0.0.1" if settings.host in ("0.0.0.0", "::") else settings.host  # noqa: S104 - shown, not bound
    base = f"http://{shown}:{process.port}"
    agents = ", ".join(a.name for a in process.app.agents)
    doors = [f"{base}/v1/hooks/{name}" for name in settings.hooks]
    lines = [
        ("Web chat", f"{base}/chat"),
        ("Console", f"{base}/#token={process.token}"),
        ("Events", f"POST {base}/v1/events   (Authorization: Bearer {process.token})"),
        *(("Webhook", door) for door in doors),
        ("Agents", f"{agents}{'' if target else '   (the built-in demo; give an app to run your own)'}"),
        ("Store", f"{settings.store_path}   (SQLite, WAL, synchronous=FULL)"),
        ("Stop", "Ctrl-C; nothing accepted is lost, and kill -9 is fine too"),
    ]
    body = "\n".join(f"  {name:<9} {text}" for name, text in lines)
    return f"\nTurnline is running.\n\n{body}\n\n"
