"""`turnline doctor`: the installation, the settings, the store and what waits, with what to do about each finding."""

import time
from dataclasses import asdict
from pathlib import Path

import typer
from rich.text import Text

from sessionstore.errors import TurnlineError
from turnline.cli.checkup.configuration import agents_of, routing, shown, variables
from turnline.cli.checkup.finding import Finding, Level, attention, ok
from turnline.cli.checkup.folder import disk, folder, store_file, whole
from turnline.cli.checkup.installation import installation
from turnline.cli.checkup.workload import Surroundings, workload
from turnline.cli.opening import Opened, settings_for, with_store
from turnline.cli.options import DataOption, JsonOption, StoreOption
from turnline.cli.screen import clean, facts, put_json, show
from turnline.cli.telling import value
from turnline.datafolder import lock_holder
from turnline.settings import Settings

MARKS = ((Level.OK, "✓", "green"), (Level.NOTE, "·", "yellow"), (Level.ATTENTION, "✗", "bold red"))


def doctor(ctx: typer.Context, as_json: JsonOption = False, data: DataOption = None, store: StoreOption = None) -> None:
    """Look at the installation, the settings, the store and what waits. Exit code 1 when something needs attention."""
    findings = list(installation())
    settings, more = _configured(ctx, data, store)
    findings += more
    if settings is not None:
        findings += _stored(settings)
    ill = sum(finding.level is Level.ATTENTION for finding in findings)
    if as_json:
        resolved = shown(settings) if settings is not None else None
        put_json({"ok": not ill, "findings": [asdict(finding) for finding in findings], "settings": resolved})
    else:
        _show(findings, settings, ill)
    if ill:
        raise typer.Exit(1)


def _configured(ctx: typer.Context, data: Path | None, store: str | None) -> tuple[Settings | None, list[Finding]]:
    try:
        settings = settings_for(ctx, data, store)
        path = settings.store_path
    except TurnlineError as error:
        return None, [attention("settings", str(error), error.hint)]
    return settings, [ok("settings", f"{len(shown(settings))} set; the store is {path}"), *variables()]


def _stored(settings: Settings) -> list[Finding]:
    agents, findings = agents_of(settings)
    findings += routing(settings, agents)
    findings += folder(settings.data)
    file = list(store_file(settings.store_path))
    findings += [disk(settings.store_path), *file]
    if not settings.store_path.is_file() or not whole(file):
        return findings
    holder = lock_holder(settings.data)
    # What the server that runs has counts more than what the settings say.
    known = holder.agents if holder is not None and holder.agents else agents
    around = Surroundings(time.time(), holder is not None, known)

    async def read(opened: Opened) -> list[Finding]:
        return [finding async for finding in workload(opened.store, around)]

    try:
        return findings + with_store(settings, read)
    except TurnlineError as error:
        return [*findings, attention("store", str(error), error.hint)]


def _show(findings: list[Finding], settings: Settings | None, ill: int) -> None:
    show(facts((_mark(finding), _said(finding)) for finding in findings))
    if settings is not None:
        show("", Text("Settings that are not the default", style="bold"))
        show(facts((name, value(given)) for name, given in shown(settings).items()))
    verdict = f"{ill} finding{'s need' if ill != 1 else ' needs'} attention." if ill else "All is well."
    show("", Text(verdict, style="bold red" if ill else "bold green"))


def _mark(finding: Finding) -> Text:
    mark, style = next((mark, style) for level, mark, style in MARKS if level is finding.level)
    return Text.assemble((f"{mark} ", style), finding.name)


def _said(finding: Finding) -> Text:
    said = Text(clean(finding.says))
    if finding.todo:
        said.append(f"\n→ {clean(finding.todo)}", style="bold" if finding.level is Level.ATTENTION else "dim")
    return said
