"""`turnline effects`: what was sent, what is being sent, and what nobody knows."""

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from sessionstore.effect import EffectState
from sessionstore.errors import BadInput, Conflict, NotFound
from turnline.cli.opening import Opened, actor, settings_for, with_store
from turnline.cli.options import (
    ByOption,
    DataOption,
    DryRunOption,
    JsonOption,
    StoreOption,
    TenantOption,
)
from turnline.cli.screen import badge, facts, line, put_json, say, show, table
from turnline.cli.times import ago

app = typer.Typer(no_args_is_help=True, add_completion=False, help="What was sent, is being sent, and nobody knows.")

MARKABLE = ("unknown",)
RESENDABLE = ("failed", "expired", "unknown")


class Ended(StrEnum):
    """How an operator can say that an effect ended."""

    DELIVERED = "delivered"
    FAILED = "failed"


IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The effect's id, as `effects list` shows it.")]


@app.command("list")
def list_effects(
    ctx: typer.Context,
    states: Annotated[
        list[str] | None, typer.Option("--state", help="Only these; may be given more than once.")
    ] = None,
    session: Annotated[str, typer.Option("--session", "-s", metavar="KEY", help="Of one session.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000)] = 50,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Effects, newest first."""
    wanted = _states(states or ())

    async def read(opened: Opened) -> list[dict[str, Any]]:
        ref = opened.ref(session, tenant) if session else None
        owner, key = (ref.tenant, ref.session) if ref else (tenant, None)
        return await opened.store.reads.effects(owner, session=key, states=wanted, limit=limit)

    found = with_store(settings_for(ctx, data, store), read)
    if as_json:
        put_json({"effects": found})
        return
    if not found:
        say("No such effect.")
        return
    now = time.time()
    columns = ("id", "state", "what", "tries", "age", "session")
    show(table(columns, (_row(effect, now) for effect in found), wraps=("session", "what")))


@app.command("mark")
def mark(
    ctx: typer.Context,
    effect_id: IdArgument,
    state: Annotated[Ended, typer.Argument(help="How it ended, as you have found out.")],
    note: Annotated[str, typer.Option("--note", help="How you know; the session is told.")] = "",
    by: ByOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Say how an unknown effect ended. Nothing is sent."""

    async def work(opened: Opened) -> dict[str, Any]:
        before = await _found(opened, effect_id, MARKABLE)
        if not dry_run:
            await opened.store.operations.mark(effect_id, state.value, actor(by), note)
        return before

    effect = with_store(settings_for(ctx, data, store), work)
    _tell(effect, state.value, dry_run, as_json)


@app.command("resend")
def resend(
    ctx: typer.Context,
    effect_id: IdArgument,
    by: ByOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Send a failed, expired or unknown effect again, under the same idempotency key."""

    async def work(opened: Opened) -> dict[str, Any]:
        before = await _found(opened, effect_id, RESENDABLE)
        if not dry_run:
            await opened.store.operations.resend(effect_id, actor(by))
        return before

    effect = with_store(settings_for(ctx, data, store), work)
    _tell(effect, EffectState.RETRY.value, dry_run, as_json)
    if effect["state"] == EffectState.UNKNOWN.value and not as_json:
        say("It may have been done before; sent again it counts as a possible duplicate.", style="yellow")


def _states(given: Sequence[str]) -> list[str]:
    known = [state.value for state in EffectState]
    wanted = [word for text in given for word in text.split(",") if word]
    wrong = [word for word in wanted if word not in known]
    if wrong:
        raise BadInput(f"{wrong[0]!r} is no state of an effect", hint=f"they are: {', '.join(known)}")
    return wanted


async def _found(opened: Opened, effect_id: str, states: Sequence[str]) -> dict[str, Any]:
    effect = await opened.store.reads.effect(effect_id)
    if effect is None:
        raise NotFound(f"no effect has the id {effect_id!r}", hint="`turnline effects list` shows them")
    if effect["state"] not in states:
        wanted = " or ".join(states)
        raise Conflict(f"effect {effect_id} is {effect['state']}, not {wanted}", hint="nothing was changed")
    return effect


def _tell(effect: dict[str, Any], state: str, dry_run: bool, as_json: bool) -> None:
    if as_json:
        changed = {"effect_id": effect["effect_id"], "from": effect["state"], "to": state}
        put_json({**changed, "session_key": effect["session"], "dry_run": dry_run})
        return
    change = f"{effect['state']} → {state}{' (dry run: nothing was changed)' if dry_run else ''}"
    what = effect["summary"] or effect["adapter"]
    show(facts([("effect", effect["effect_id"]), ("what", what), ("state", change), ("session", effect["session"])]))


def _row(effect: dict[str, Any], now: float) -> tuple[Any, ...]:
    what = line(effect["summary"] or effect["adapter"], 40)
    tries = f"{effect['attempts'] or ''}"
    return (effect["effect_id"], badge(effect["state"]), what, tries, ago(effect["created_at"], now), effect["session"])
