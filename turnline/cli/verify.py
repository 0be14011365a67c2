"""`turnline verify`: records against their transcripts, on live data."""

from typing import Annotated, Any

import typer
from rich.text import Text

from sessionstore.errors import NotFound
from sessionstore.verify import Verdict, verify_all, verify_session
from turnline.cli.opening import Opened, settings_for, with_store
from turnline.cli.options import DataOption, JsonOption, StoreOption, TenantOption
from turnline.cli.screen import clean, put_json, show


def verify(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(metavar="[KEY]", help="One session; otherwise all.")] = "",
    tenant: TenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Prove that each record is what its transcript folds to; names the first event that differs. Exit code 1 then."""

    async def work(opened: Opened) -> list[Verdict]:
        reads = opened.store.reads
        if not key:
            return [_seen(verdict, as_json) async for verdict in verify_all(reads, tenant)]
        ref = opened.ref(key, tenant)
        if await reads.newest_seq(ref) == 0 and await reads.session(ref) is None:
            raise NotFound(
                f"no session {key!r} in tenant {ref.tenant!r}", hint="`turnline sessions list` shows the keys"
            )
        return [_seen(await verify_session(reads, ref), as_json)]

    verdicts = with_store(settings_for(ctx, data, store), work)
    differing = sum(not verdict.agrees for verdict in verdicts)
    if as_json:
        put_json({"agrees": not differing, "differing": differing, "sessions": [_plain(each) for each in verdicts]})
    else:
        _sum_up(verdicts, differing)
    if differing:
        raise typer.Exit(1)


def _seen(verdict: Verdict, as_json: bool) -> Verdict:
    """Said at once: over many sessions the first finding should not wait for the last."""
    if not as_json and not verdict.agrees:
        show(
            Text.assemble(("✗ ", "bold red"), (verdict.ref.session, "bold"), (f"  tenant {verdict.ref.tenant}", "dim"))
        )
        for difference in verdict.differences:
            show(Text(f"    {clean(difference.says)}"))
    return verdict


def _sum_up(verdicts: list[Verdict], differing: int) -> None:
    events, turns = (sum(getattr(each, name) for each in verdicts) for name in ("events", "turns"))
    looked = f"{len(verdicts):,} session{'' if len(verdicts) == 1 else 's'} ({turns:,} turns, {events:,} events)"
    if differing:
        show(Text(f"{differing:,} of {looked} not as written; restore from a backup.", style="red"))
    else:
        show(Text(f"✓ {looked}: each record is what its transcript folds to.", style="green"))


def _plain(verdict: Verdict) -> dict[str, Any]:
    differences = [
        {"what": str(d.what), "seq": d.seq, "type": d.type, "turn_id": d.turn_id, "detail": d.says}
        for d in verdict.differences
    ]
    counted = {"seq": verdict.seq, "start": verdict.start, "events": verdict.events, "turns": verdict.turns}
    ref = {"tenant": verdict.ref.tenant, "session": verdict.ref.session}
    return {**ref, "agrees": verdict.agrees, **counted, "differences": differences}
