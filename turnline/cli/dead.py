"""`turnline dead`: events that could not be handled, kept as they came."""

import base64
import time
from typing import Annotated, Any

import orjson
import typer

from sessionstore.errors import Conflict, NotFound
from turnline.cli.opening import Opened, actor, settings_for, with_store
from turnline.cli.options import ByOption, DataOption, DryRunOption, JsonOption, StoreOption, TenantOption
from turnline.cli.screen import badge, facts, line, put_json, say, show
from turnline.cli.telling import event_text
from turnline.cli.times import ago

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Events that could not be handled.")

READ_MAX = 10_000
RAW_CHARS_MAX = 200

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The dead letter's id, as `dead list` shows it.")]


@app.command("list")
def list_dead(
    ctx: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Those that were redriven or dropped too.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=READ_MAX)] = 50,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Dead letters, newest first."""
    settings = settings_for(ctx, data, store)
    letters = with_store(settings, lambda opened: opened.store.reads.dead(tenant, limit=READ_MAX))
    shown = [letter for letter in letters if every or letter["state"] == "dead"][:limit]
    if as_json:
        put_json({"dead": [_plain(letter) for letter in shown]})
        return
    if not shown:
        say("No dead letter.")
        return
    now = time.time()
    for letter in shown:
        show(facts(_described(letter, now)))
        say()


@app.command("redrive")
def redrive(
    ctx: typer.Context,
    dead_id: IdArgument,
    by: ByOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Queue it again, once what it failed on is fixed."""

    async def work(opened: Opened) -> dict[str, Any]:
        letter = await _found(opened, dead_id)
        if not dry_run:
            await opened.store.operations.redrive(dead_id, actor(by))
        elif letter["pos"] is None:
            raise Conflict(f"dead letter {dead_id!r} was never an event", hint="send it again, and drop this one")
        return letter

    _tell(with_store(settings_for(ctx, data, store), work), "queued again", dry_run, as_json)


@app.command("drop")
def drop(
    ctx: typer.Context,
    dead_id: IdArgument,
    by: ByOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Give it up; it stays in the counts as dead."""

    async def work(opened: Opened) -> dict[str, Any]:
        letter = await _found(opened, dead_id)
        if not dry_run:
            await opened.store.operations.drop(dead_id, actor(by))
        return letter

    _tell(with_store(settings_for(ctx, data, store), work), "given up", dry_run, as_json)


async def _found(opened: Opened, dead_id: str) -> dict[str, Any]:
    letters = await opened.store.reads.dead(None, limit=READ_MAX)
    letter = next((letter for letter in letters if letter["dead_id"] == dead_id), None)
    if letter is None:
        raise NotFound(f"no dead letter has the id {dead_id!r}", hint="`turnline dead list` shows them")
    if letter["state"] != "dead":
        raise Conflict(f"dead letter {dead_id!r} is already {letter['state']}", hint="nothing was changed")
    return letter


def _tell(letter: dict[str, Any], done: str, dry_run: bool, as_json: bool) -> None:
    if as_json:
        changed = {"dead_id": letter["dead_id"], "event_id": letter["event_id"], "session_key": letter["session"]}
        put_json({**changed, "done": done, "dry_run": dry_run})
        return
    said = f"would be {done} (dry run: nothing was changed)" if dry_run else done
    show(facts([("event", letter["event_id"]), ("session", letter["session"] or "none"), ("now", said)]))


def _plain(letter: dict[str, Any]) -> dict[str, Any]:
    """For scripts: the raw bytes as base64, beside their text."""
    raw = letter["raw"]
    text = raw.decode("utf-8", errors="backslashreplace")
    return {**letter, "raw": text, "raw_base64": base64.b64encode(raw).decode()}


def _described(letter: dict[str, Any], now: float) -> list[tuple[str, Any]]:
    event = f"{letter['event_id']} from {letter['source']}, {ago(letter['at'], now)}"
    rows = [
        ("id", letter["dead_id"]),
        ("event", event),
        ("session", letter["session"] or "none: it never was an event"),
    ]
    rows += [("why", letter["reason"]), ("what", line(_text(letter["raw"]), RAW_CHARS_MAX))]
    return [*rows, *([("state", badge(letter["state"]))] if letter["state"] != "dead" else [])]


def _text(raw: bytes) -> str:
    try:
        stored = orjson.loads(raw)
    except ValueError:
        return raw.decode("utf-8", errors="backslashreplace")
    return event_text(stored.get("data")) if isinstance(stored, dict) and "data" in stored else raw.decode()
