"""`turnline sessions replay`: run again what came after a checkpoint, by today's app, and show where it differs."""

import sys
from contextlib import redirect_stdout
from dataclasses import asdict
from typing import Annotated, Any

import orjson
import typer

from consumers.replayed import Chapter, Report
from consumers.replaying import EFFECTS, replay
from sessionstore.errors import BadInput, BadSettings
from turnline.cli.opening import Opened, settings_for, with_store
from turnline.cli.options import DataOption, JsonOption, KeyTenantOption, StoreOption
from turnline.cli.screen import line, put_json, say
from turnline.cli.sessionactions import KeyArgument
from turnline.cli.telling import value
from turnline.wiring import load_app, open_artifacts

TEXT_CHARS_MAX = 160
DIFFERS = 1


def replay_session(
    ctx: typer.Context,
    key: KeyArgument,
    start: Annotated[int, typer.Option("--from", metavar="SEQ", help="The checkpoint to begin from.")],
    end: Annotated[
        int | None, typer.Option("--to", metavar="SEQ", help="The last event; otherwise the newest.")
    ] = None,
    effects: Annotated[
        str, typer.Option("--effects", help="stubbed: each is answered at once. recorded: as it ended then.")
    ] = EFFECTS[0],
    stubs: Annotated[
        list[str] | None,
        typer.Option("--stub", metavar="TOOL=JSON", help="What a stubbed tool returns; may be given more than once."),
    ] = None,
    target: Annotated[str, typer.Option("--app", help="module:app or FILE.py; otherwise TURNLINE_APP.")] = "",
    tenant: KeyTenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Run again what came after a checkpoint, in memory, and compare. Writes and sends nothing.

    Exits with 1 when something is decided differently.
    """
    settings = settings_for(ctx, data, store)
    target = target or settings.app
    if not target:
        raise BadSettings("a replay needs the app", hint="give --app FILE.py, or set TURNLINE_APP")
    agents, given = load_app(target).by_name(), dict(_stub(text) for text in stubs or [])

    async def work(opened: Opened) -> Report:
        artifacts = open_artifacts(settings)
        try:
            ref = opened.ref(key, tenant)
            # What handlers print and log is theirs; stdout is this command's.
            with redirect_stdout(sys.stderr):
                return await replay(
                    opened.store, agents, ref, start, to_seq=end, effects=effects, stubs=given, artifacts=artifacts
                )
        finally:
            await artifacts.close()

    report = with_store(settings, work)
    _tell(report, as_json)
    if not report.same:
        raise typer.Exit(DIFFERS)


def add_replay(app: typer.Typer) -> None:
    """Add the command to the group `sessions`."""
    app.command("replay")(replay_session)


def _stub(text: str) -> tuple[str, Any]:
    name, equals, json = text.partition("=")
    try:
        return name, orjson.loads(json)
    except orjson.JSONDecodeError as error:
        hint = "write it as --stub deploy='{\"id\": 7}'"
        raise BadInput(f"{text!r:.100} is no stub{'' if equals else ': there is no ='}", hint=hint) from error


def _tell(report: Report, as_json: bool) -> None:
    if as_json:
        put_json({**asdict(report), "same": report.same})
        return
    verdict = "the same was decided" if report.same else "something is decided differently"
    say(f"{report.turns} turns from {report.from_seq} to {report.to_seq}, effects {report.effects}: {verdict}.")
    for chapter in report.chapters:
        _tell_chapter(chapter)
    if report.state_before != report.state_after:
        say("state")
        say(f"  - {line(value(report.state_before), TEXT_CHARS_MAX)}", style="red")
        say(f"  + {line(value(report.state_after), TEXT_CHARS_MAX)}", style="green")
    for text in report.left_out:
        say(f"left out: {text}", style="yellow")


def _tell_chapter(chapter: Chapter) -> None:
    say(f"{line(chapter.text, TEXT_CHARS_MAX)}{'' if chapter.differences else '  (the same)'}", style="bold")
    for difference in chapter.differences:
        for sign, style, decisions in (("-", "red", difference.then), ("+", "green", difference.now)):
            for decision in decisions:
                say(f"  {sign} {decision.kind} {line(decision.text, TEXT_CHARS_MAX)}", style=style)
