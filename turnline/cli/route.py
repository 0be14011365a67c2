"""`turnline route`: which session a message goes to, and why; nothing is sent and no store is opened."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from router.explain import explain as explained
from router.rules import Routing, route
from turnline.cli.opening import settings_for
from turnline.cli.options import DataOption, JsonOption, StoreOption
from turnline.cli.routefile import Case, names_in, read_cases, read_message
from turnline.cli.screen import clean, facts, put_json, say, show
from turnline.settings import Settings
from turnline.wiring import load_app

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Which session a message goes to, and why.")

FileArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSON: a message, or {in, config} with its routing.")
]
CasesArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="JSON: a list of {in, expect: {agent, key, tier}}.")
]


@app.command("explain")
def explain(
    ctx: typer.Context,
    file: FileArgument,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """The key that a message gets, the rule that won and the rules that lost. Exit code 1 when it goes nowhere.

    FILE holds {"channel": "slack", "account": "T1", "peer": {"kind": "channel", "id": "C2"}} and the like.
    """
    case = read_message(file, _routing(settings_for(ctx, data, store)))
    answer = explained(route(case.inbound, case.routing))
    if as_json:
        put_json(answer)
    else:
        show(facts(_told(answer)))
    if "error" in answer:
        raise typer.Exit(1)


@app.command("test")
def try_cases(
    ctx: typer.Context,
    file: CasesArgument,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Try a table of cases; exit code 1 when one goes elsewhere than it says."""
    cases = read_cases(file, _routing(settings_for(ctx, data, store)))
    results = [_tried(case) for case in cases]
    failed = [result for result in results if not result["passed"]]
    if as_json:
        put_json({"passed": len(results) - len(failed), "failed": len(failed), "cases": results})
    else:
        for result in failed:
            _show_failed(result)
        style = "red" if failed else "green"
        say(f"{len(results) - len(failed)} of {len(results)} cases go where they say.", style=style)
    if failed:
        raise typer.Exit(1)


def _routing(settings: Settings) -> Routing:
    """The settings' own; without an app its agents are those that the rules name."""
    table = settings.routing
    return table.to_routing(load_app(settings.app).by_name() if settings.app else names_in(table))


def _told(answer: dict[str, Any]) -> list[tuple[str, str | Text]]:
    if "error" in answer:
        rows: list[tuple[str, str | Text]] = [
            ("refused", Text(clean(answer["reason"]), style="red")),
            ("hint", answer["hint"]),
        ]
    else:
        rows = [
            ("key", Text(answer["key"], style="bold")),
            ("agent", f"{answer['agent']}  (tenant {answer['tenant']})"),
            ("won", f"{answer['tier']}: {answer['reason']}"),
            ("scopes", f"dm {answer['dm_scope']}, group {answer['group_scope']}"),
        ]
    rows += [("lost", f"rule {lost['rule']} ({lost['agent']}): {lost['reason']}") for lost in answer["lost"]]
    rows.append(("tiers", ", ".join(f"{tier['tier']} {tier['outcome']}" for tier in answer["tiers"])))
    return rows


def _tried(case: Case) -> dict[str, Any]:
    answer = explained(route(case.inbound, case.routing))
    names: tuple[str, ...] = ("agent", "key", "tier", "error")
    got = {name: answer[name] for name in names if name in answer}
    wanted = dict(case.expect)
    passed = all(got.get(name) == value for name, value in wanted.items())
    return {"name": case.name, "passed": passed, "expect": wanted, "got": got, "reason": answer["reason"]}


def _show_failed(result: dict[str, Any]) -> None:
    show(Text.assemble(("✗ ", "bold red"), (clean(result["name"]), "bold")))
    rows: list[tuple[str, str | Text]] = []
    for name, wanted in result["expect"].items():
        got = result["got"].get(name, "nothing")
        if got != wanted:
            rows += [(f"  {name}", f"expected {wanted}"), ("", f"got      {got}")]
    show(facts([*rows, ("  why", result["reason"])]))
