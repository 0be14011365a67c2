"""`turnline sessions`: what each session is about, and what happened in it."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.text import Text

from sessionstore.digest import CLOSING
from sessionstore.errors import NotFound
from sessionstore.history import events_after
from sessionstore.inbox import SessionRef
from turnline.cli.following import follow, last
from turnline.cli.opening import Opened, settings_for, with_store
from turnline.cli.options import DataOption, JsonOption, KeyTenantOption, StoreOption, TenantOption
from turnline.cli.portrait import awaits, portrait
from turnline.cli.replaycommand import add_replay
from turnline.cli.screen import badge, facts, json_line, line, put_json, say, show, table
from turnline.cli.sessionactions import KeyArgument, add_actions
from turnline.cli.telling import told
from turnline.cli.times import ago, clock

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="What each session is about, and what happened in it."
)

OPEN_STATES = ("pending", "sending", "retry", "unknown")
EFFECTS_READ_MAX = 100
APPROVALS_READ_MAX = 50
TOLD_CHARS_MAX = 400
ALIKE_MAX = 3


@app.command("list")
def list_sessions(
    ctx: typer.Context,
    query: Annotated[str, typer.Option("--query", "-q", help="A part of the key.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000)] = 50,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Sessions, newest change first."""
    settings = settings_for(ctx, data, store)
    heads = with_store(settings, lambda opened: opened.store.reads.sessions(tenant, query=query, limit=limit))
    if as_json:
        put_json({"sessions": [_head(head) for head in heads]})
        return
    now = time.time()
    if not heads:
        say("No session yet." if not query else f"No session has {query!r} in its key.")
        return
    columns = ("session", "status", "stage", "queued", "effects", "turns", "changed")
    show(table(columns, (_row(head, now) for head in heads), wraps=("session", "stage")))


@app.command("show")
def show_session(
    ctx: typer.Context,
    key: KeyArgument,
    checkpoints: Annotated[
        bool, typer.Option("--checkpoints", help="List where a turn or an action ended: what rewind and fork take.")
    ] = False,
    tenant: KeyTenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """One session: goal, stage, what it waits for, what is approved, what is under way."""
    if checkpoints:
        _show_checkpoints(ctx, key, tenant, as_json, data, store)
        return

    async def read(opened: Opened) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, str]]:
        session, ref = await _found(opened, key, tenant)
        reads, waits = opened.store.reads, opened.store.waits
        effects = await reads.effects(ref.tenant, session=ref.session, states=OPEN_STATES, limit=EFFECTS_READ_MAX)
        approvals = list((session["record"] or {}).get("control", {}).get("approvals", ()))[-APPROVALS_READ_MAX:]
        asked = [await waits.get(wait_id) for wait_id in approvals]
        return session, effects, {wait["wait_id"]: wait["question"] for wait in asked if wait}

    session, effects, questions = with_store(settings_for(ctx, data, store), read)
    if as_json:
        put_json({"session": session, "effects": effects})
        return
    title = Text.assemble((session["session"], "bold"), "  ", badge(session["status"]))
    epoch = f", epoch {session['epoch']}" if session["epoch"] else ""
    changed = ago(session["updated_at"], time.time())
    below = f"agent {session['agent']}, tenant {session['tenant']}{epoch}, changed {changed}"
    body = facts(portrait(session, effects, questions, time.time()))
    show(
        Panel(
            body,
            title=title,
            title_align="left",
            subtitle=Text(below, style="dim"),
            subtitle_align="left",
            padding=(1, 2),
        )
    )


@app.command("tail")
def tail(
    ctx: typer.Context,
    key: KeyArgument,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="How many of the newest events.")] = 20,
    following: Annotated[bool, typer.Option("--follow", "-f", help="Go on as more comes; Ctrl-C ends it.")] = False,
    tenant: KeyTenantOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document a line, one line an event.")] = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """The transcript, one line an event."""

    async def read(opened: Opened) -> None:
        reads = opened.store.reads
        _, ref = await _found(opened, key, tenant)
        rows, after = await last(reads, ref, lines)
        _put_rows(rows, as_json)
        if following:
            async for more in follow(reads, ref, after):
                _put_rows(more, as_json)

    with_store(settings_for(ctx, data, store), read)


add_actions(app)
add_replay(app)


def _show_checkpoints(
    ctx: typer.Context, key: str, tenant: str | None, as_json: bool, data: Path | None, store: str | None
) -> None:
    async def read(opened: Opened) -> list[dict[str, Any]]:
        _, ref = await _found(opened, key, tenant)
        return [row async for row in events_after(opened.store.reads, ref, 0) if row["type"] in CLOSING]

    rows = with_store(settings_for(ctx, data, store), read)
    if as_json:
        names = ("seq", "epoch", "at", "turn_id")
        found = [{**{name: row[name] for name in names}, "sha256": row["body"]["sha256"]} for row in rows]
        put_json({"checkpoints": found})
        return
    lines = ((str(row["seq"]), clock(row["at"]), told(row["type"], row["body"])) for row in rows)
    show(table(("seq", "at", "what"), lines, wraps=("what",)))


def _put_rows(rows: list[dict[str, Any]], as_json: bool) -> None:
    for row in rows:
        if as_json:
            typer.echo(json_line(row))
            continue
        said = line(told(row["type"], row["body"]), TOLD_CHARS_MAX)
        show(
            Text.assemble(
                (f"{row['seq']:>5} {clock(row['at'])} ", "dim"), (f"{row['type']:<16} ", _hue(row["type"])), said
            )
        )


def _hue(type_: str) -> str:
    match type_.partition(".")[0]:
        case "message":
            return "bold"
        case "wait" | "outcome" | "effect" | "effects":
            return "yellow"
        case "turn" if type_ == "turn.failed":
            return "red"
        case _:
            return "dim"


async def _found(opened: Opened, key: str, tenant: str | None) -> tuple[dict[str, Any], SessionRef]:
    ref = opened.ref(key, tenant)
    session = await opened.store.reads.session(ref)
    if session is not None:
        return session, ref
    alike = await opened.store.reads.sessions(None, query=key, limit=ALIKE_MAX)
    names = ", ".join(f"{head['session']} (tenant {head['tenant']})" for head in alike)
    hint = f"there is {names}" if alike else "`turnline sessions list` shows the keys"
    raise NotFound(f"no session {key!r} in tenant {ref.tenant!r}", hint=hint)


def _head(head: dict[str, Any]) -> dict[str, Any]:
    """A head for scripts: the stage instead of the whole record."""
    record = head["record"] or {}
    execution = record.get("execution", {})
    kept = {name: given for name, given in head.items() if name != "record"}
    stage = {
        "goal": record.get("goal", {}),
        "phase": execution.get("phase", ""),
        "plan_next": execution.get("plan_next", ""),
    }
    return {**kept, **stage, "awaited": len(execution.get("awaited", ()))}


def _row(head: dict[str, Any], now: float) -> tuple[str | Text, ...]:
    told_head = _head(head)
    stage = told_head["phase"] or told_head["goal"].get("aim", "") or awaits(head["record"])
    counts = (f"{head['queued'] or ''}", f"{head['effects_open'] or ''}", f"{head['turns']:,}")
    return (head["session"], badge(head["status"]), line(stage, 40), *counts, ago(head["updated_at"], now))
