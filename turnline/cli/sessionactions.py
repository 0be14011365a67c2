"""`turnline sessions pause|cancel|rewind|...`: what an operator does to a session, each one transaction."""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from consumers.operator import Acted, Operator
from sessionstore import patch
from sessionstore.clock import SystemClock
from sessionstore.errors import BadInput, Damaged
from sessionstore.inbox import SessionRef
from sessionstore.key import parse
from turnline.cli.opening import Opened, actor, settings_for, with_store
from turnline.cli.options import ByOption, DataOption, DryRunOption, JsonOption, KeyTenantOption, StoreOption
from turnline.cli.screen import facts, put_json, show
from turnline.wiring import load_app

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="The session's key, as `sessions list` shows it.")]
ReasonOption = Annotated[str, typer.Option("--reason", "-r", help="Why; it is written into the transcript.")]

Act = Callable[[Operator, SessionRef, str], Awaitable[Acted]]

SIMPLE = (
    ("pause", "Run nothing of it from now on; what comes is kept, in order."),
    ("unpause", "Run what has come meanwhile."),
    ("resume", "Go on from the newest valid checkpoint; what was put off after a failure is due at once."),
    ("cancel", "Stop what it is doing, withdraw what was not sent, and run the agent's `cancel` handler."),
    ("kill", "End it without asking the agent; what is queued is dropped."),
    ("reset", "Begin a new epoch of the same key, with an empty record."),
    ("archive", "Take nothing more; it can still be read and forked."),
    ("takeover", "Answer in the agent's place: what comes is recorded, and no handler runs."),
    ("handback", "Let the agent answer again."),
)


def add_actions(app: typer.Typer) -> None:
    """Add the commands to the group `sessions`."""
    for name, told in SIMPLE:
        app.command(name, help=told)(_simple(name))
    app.command("say")(say_to_session)
    app.command("edit")(edit)
    app.command("rewind")(rewind)
    app.command("fork")(fork)


def _simple(name: str) -> Callable[..., None]:
    def command(
        ctx: typer.Context,
        key: KeyArgument,
        reason: ReasonOption = "",
        by: ByOption = None,
        dry_run: DryRunOption = False,
        tenant: KeyTenantOption = None,
        as_json: JsonOption = False,
        data: DataOption = None,
        store: StoreOption = None,
    ) -> None:
        async def act(operator: Operator, ref: SessionRef, who: str) -> Acted:
            done: Acted = await getattr(operator, name)(ref, who, reason, dry_run=dry_run)
            return done

        _run(ctx, key, tenant, by, as_json, data, store, act)

    return command


def say_to_session(
    ctx: typer.Context,
    key: KeyArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say, where the session's replies go.")],
    by: ByOption = None,
    dry_run: DryRunOption = False,
    tenant: KeyTenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Say something as a person, where the session's replies go."""
    _run(ctx, key, tenant, by, as_json, data, store, lambda o, ref, who: o.say(ref, who, text, dry_run=dry_run))


def edit(
    ctx: typer.Context,
    key: KeyArgument,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="/PATH=JSON", help="Put a value in place; may be given more than once."),
    ] = None,
    state: Annotated[str, typer.Option("--state", metavar="JSON", help="The whole new state instead.")] = "",
    expect: Annotated[
        int | None, typer.Option("--expect", metavar="VERSION", help="Only if the session is still at this version.")
    ] = None,
    reason: ReasonOption = "",
    by: ByOption = None,
    dry_run: DryRunOption = False,
    tenant: KeyTenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Change the agent's own state, checked against its model where TURNLINE_APP names the app."""
    change = _change(sets or [], state)

    async def act(operator: Operator, ref: SessionRef, who: str) -> Acted:
        return await operator.edit(ref, who, change, reason, expected_version=expect, dry_run=dry_run)

    _run(ctx, key, tenant, by, as_json, data, store, act)


def rewind(
    ctx: typer.Context,
    key: KeyArgument,
    to: Annotated[int, typer.Option("--to", metavar="SEQ", help="The checkpoint to go back to.")],
    reason: ReasonOption = "",
    by: ByOption = None,
    dry_run: DryRunOption = False,
    tenant: KeyTenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Go back to an earlier checkpoint. What was done outside stays done; --dry-run lists it. Nothing is deleted."""
    _run(
        ctx, key, tenant, by, as_json, data, store, lambda o, ref, who: o.rewind(ref, who, to, reason, dry_run=dry_run)
    )


def fork(
    ctx: typer.Context,
    key: KeyArgument,
    at: Annotated[int, typer.Option("--at", metavar="SEQ", help="The checkpoint to begin from.")],
    into: Annotated[str, typer.Option("--as", metavar="NEW_KEY", help="The key of the new session.")],
    reason: ReasonOption = "",
    by: ByOption = None,
    dry_run: DryRunOption = False,
    tenant: KeyTenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Begin a new session from a checkpoint of this one, which is not touched. No effect of its past is sent again."""

    async def act(operator: Operator, ref: SessionRef, who: str) -> Acted:
        return await operator.fork(ref, who, at, parse(into, ref.tenant).text, reason, dry_run=dry_run)

    _run(ctx, key, tenant, by, as_json, data, store, act)


def _change(sets: list[str], state: str) -> Callable[[Any], Any]:
    """What an edit does to the state. Raises BadInput for what cannot be read."""
    if bool(sets) == bool(state):
        raise BadInput("an edit needs --set or --state", hint="give --set /count=3, or --state '{\"count\": 3}'")
    if state:
        whole = _json(state)
        return lambda _: whole
    ops = [_op(text) for text in sets]

    def apply(before: Any) -> Any:
        try:
            return patch.apply(before, ops)
        except Damaged as error:
            raise BadInput(
                f"the edit does not fit the state: {error}", hint="`sessions show` shows the state"
            ) from error

    return apply


def _op(text: str) -> dict[str, Any]:
    path, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"{text!r} is no edit", hint="write it as --set /path/in/the/state=JSON")
    return {"op": "add", "path": path if path.startswith("/") else f"/{path}", "value": _json(value)}


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput(
            f"{text!r:.100} is not JSON: {error}", hint="texts need quotes: --set /name='\"Ann\"'"
        ) from error


def _run(
    ctx: typer.Context,
    key: str,
    tenant: str | None,
    by: str | None,
    as_json: bool,
    data: Path | None,
    store: str | None,
    act: Act,
) -> None:
    settings = settings_for(ctx, data, store)
    agents = load_app(settings.app).by_name() if settings.app else {}

    async def work(opened: Opened) -> Acted:
        operator = Operator(opened.store, SystemClock(), agents)
        return await act(operator, opened.ref(key, tenant), actor(by))

    _tell(with_store(settings, work), as_json)


def _tell(done: Acted, as_json: bool) -> None:
    if as_json:
        put_json({"session_key": done.session, **{k: v for k, v in asdict(done).items() if k != "session"}})
        return
    rows = [("session", done.session), ("action", f"{done.action}{_dry(done)}")]
    if not done.dry_run:
        rows.append(("version", f"{done.version}, transcript event {done.seq}"))
    would = "would be " if done.dry_run else ""
    rows += [("withdrawn", f"{effect_id} {f'is {state}' if state else ''}") for effect_id, state in done.withdrawn]
    rows += [("closed", f"{would}question or timer {wait_id}") for wait_id in done.closed_waits]
    if done.dropped:
        rows.append(("dropped", f"{done.dropped} queued events, with the reason"))
    if done.preview is not None:
        rows += [("undone", text) for text in done.preview.undone]
        rows += [("had read", text) for text in done.preview.seen]
        rows += [("stays done", text) for text in done.preview.stays]
        rows += [("asked again", text) for text in done.preview.asked_again]
        rows += [("told again", text) for text in done.preview.told_again]
    show(facts(rows))


def _dry(done: Acted) -> str:
    return " (dry run: nothing was changed)" if done.dry_run else ""
