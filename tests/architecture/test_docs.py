"""The documents: their code runs, their links lead somewhere, and their tables are those of the code."""

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from consumers.recovery import Facts, Found, Policy, decide_effect
from outbox.adapter import Idempotency
from router.http.routes import OPERATIONS
from router.rules_settings import RoutingSettings
from sessionstore.effect import TRANSITIONS, EffectState
from sessionstore.inbox import RowStatus
from sessionstore.reducer import TELLING, TYPES
from sessionstore.session import Status
from sessionstore.wait import WaitStatus
from tests.architecture.tree import ROOT, plant
from tests.e2e.driving import driving
from turnline.cli.registry import ENTRIES
from turnline.settings import (
    EndpointSettings,
    HookSettings,
    OriginSettings,
    Settings,
    TokenSettings,
    load_settings,
)
from turnline.wiring import load_app

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
WHSEC = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
TABLES = (
    ("Top level", Settings),
    ("`[hooks.NAME]`", HookSettings),
    ("`[endpoints.NAME]`", EndpointSettings),
    ("`[http.NAME]`", OriginSettings),
    ("`[tokens.NAME]`", TokenSettings),
    ("`[routing]`", RoutingSettings),
)

Row = tuple[str, ...]


def documents(root: Path) -> list[Path]:
    return sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md")])


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(language: str) -> list[Any]:
    """Fenced blocks of a language, each with where it stands."""
    return [
        pytest.param(text, id=f"{path.relative_to(ROOT)}:{number}")
        for path in documents(ROOT)
        for number, (found, text) in enumerate(FENCE.findall(path.read_text(encoding="utf-8")), 1)
        if found == language
    ]


def anchors(text: str) -> set[str]:
    """Headings as links spell them."""
    plain = FENCE.sub("", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(plain)}


def dead_links(root: Path) -> list[str]:
    return [
        f"{path.relative_to(root)}: {link}"
        for path in documents(root)
        for link in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8")))
        if "://" not in link and not _leads_somewhere(path, link)
    ]


def _leads_somewhere(path: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = path if not name else (path.parent / name)
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text(encoding="utf-8"))


def table_under(text: str, heading: str, which: int = 0) -> list[Row]:
    """The rows of a table, the `which`-th under a heading, without its head; cells as they are written."""
    section = text.split(f"# {heading}\n", 1)[1]
    section = re.split(r"^#+ ", section, maxsplit=1, flags=re.MULTILINE)[0]
    tables = re.findall(r"(?:^\|.*\|\n)+", section + "\n", re.MULTILINE)
    lines = tables[which].strip().split("\n")[2:]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_no_link_of_a_document_is_dead() -> None:
    assert dead_links(ROOT) == []


@pytest.mark.parametrize("link", ["nowhere.md", "#nowhere", "other.md#nowhere"])
def test_a_planted_dead_link_is_found(tmp_path: Path, link: str) -> None:
    plant(tmp_path, "docs/other.md", "# Here\n")
    plant(tmp_path, "docs/a.md", f"# A\n[x]({link}) [y](other.md#here) [z](https://example.com)\n")
    assert dead_links(tmp_path) == [f"docs/a.md: {link}"]


@pytest.mark.parametrize("code", blocks("python"))
def test_each_python_block_is_an_app_that_loads(tmp_path: Path, code: str) -> None:
    app = load_app(str(plant(tmp_path, f"block_{abs(hash(code))}.py", code)))
    assert app.agents


async def test_the_readmes_example_fits_in_20_lines_and_runs(tmp_path: Path) -> None:
    [code] = [text for language, text in FENCE.findall(text_of("README.md")) if language == "python"]
    assert len(code.splitlines()) <= 20
    app = load_app(str(plant(tmp_path, "readme_shop.py", code)))
    async with driving(tmp_path, app) as drive:
        await drive.say("agent:shop/desk:1", "two coffees")
        wait = await drive.question()
        assert wait["question"] == "Order two coffees?"
        await drive.answer(wait["wait_id"], "approve")
        await drive.heard("approved: 1 ordered so far.")


@pytest.mark.parametrize("text", blocks("toml"))
def test_each_toml_block_is_valid_settings(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r'"env:(\w+)"', text):
        monkeypatch.setenv(name, WHSEC)
    readable = re.sub(r'"file:[^"]+"', f'"{WHSEC}"', text)
    settings = load_settings(plant(tmp_path, "turnline.toml", readable))
    settings.routing.to_routing(("main", "support"))


@pytest.mark.parametrize("text", blocks("json"))
def test_each_json_block_is_json(text: str) -> None:
    assert json.loads(text)


@pytest.mark.parametrize("text", blocks("sh"))
def test_each_command_that_is_shown_exists(text: str) -> None:
    assert [line for line in text.splitlines() if not all(_known(part) for part in line.split("&&"))] == []


def _known(command: str) -> bool:
    match command.split():
        case ["make", target]:
            return f"\n{target}:" in text_of("Makefile")
        case [program, name, *rest] if program.endswith("turnline"):
            found = [entry.load() for entry in ENTRIES if entry.name == name]
            return bool(found) and all(_takes(command, rest) for command in found)
        case [program, *_]:
            return program in ("python3", ".venv/bin/pip")
        case _:
            return True


def _takes(command: Any, rest: list[str]) -> bool:
    """Whether a command has the subcommand and the options that are shown."""
    children: Mapping[str, Any] = getattr(command, "commands", {})
    if children:
        return bool(rest) and rest[0] in children and _takes(children[rest[0]], rest[1:])
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    return {word for word in rest if word.startswith("--")} <= options


def test_a_planted_wrong_command_is_found() -> None:
    assert not _known("turnline sessions frobnicate")
    assert not _known("turnline audit --frobnicate")
    assert not _known("make frobnicate")
    assert isinstance(ENTRIES[0].load(), typer.core.TyperCommand)


def test_each_path_that_is_named_is_a_route() -> None:
    routes = {(operation.method, re.sub(r"\{\w+\}", "{}", operation.path)) for operation in OPERATIONS}
    named = {
        (method, re.sub(r"\{\w+\}|NAME", "{}", path))
        for document in documents(ROOT)
        for method, path in re.findall(r"\b(GET|POST|PUT|DELETE) (/v1/[\w/{}-]+)", document.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= routes


@pytest.mark.parametrize(("heading", "model"), TABLES, ids=lambda value: getattr(value, "__name__", None))
def test_every_setting_is_told_with_its_default(heading: str, model: type[BaseModel]) -> None:
    told = {words(name)[0]: default for name, default, _ in table_under(text_of("docs/howto/settings.md"), heading)}
    fields = model.model_fields
    assert list(told) == list(fields)
    assert told == {name: _default(info.get_default(call_default_factory=True)) for name, info in fields.items()}


def _default(value: Any) -> str:
    """As the table spells it: what is empty or a table of its own is `none`."""
    if value is PydanticUndefined:
        return "must be set"
    if value is None or isinstance(value, BaseModel) or value in ((), {}):
        return "none"
    if isinstance(value, str | Path):
        return f'`"{value}"`'
    return f"`{json.dumps(value)}`"


def test_every_limit_is_told_as_the_code_has_it() -> None:
    rows = table_under(text_of("docs/ARCHITECTURE.md"), "Limits")
    assert [(name, default) for name, default, _ in rows] == [(name, f"{_limit(name):.0f}") for name, _, _ in rows]


def _limit(cell: str) -> float:
    parts = words(cell)[0].split(".")
    split = next(n for n in range(len(parts), 0, -1) if _is_module(".".join(parts[:n])))
    found: Any = importlib.import_module(".".join(parts[:split]))
    for name in parts[split:]:
        fields = getattr(found, "__dataclass_fields__", {})
        found = fields[name].default if name in fields else getattr(found, name)
    return float(found)


def _is_module(name: str) -> bool:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def machines(heading: str, which: int = 0) -> list[Row]:
    return table_under(text_of("docs/state_machines.md"), heading, which)


@pytest.mark.parametrize(
    ("heading", "states"),
    [
        ("An effect", EffectState),
        ("An accepted event", RowStatus),
        ("A wait", WaitStatus),
        ("A session", Status),
    ],
)
def test_every_state_is_told(heading: str, states: Any) -> None:
    told = sorted(words(row[0])[0] for row in machines(heading))
    assert told == sorted(state.value for state in states)


def test_the_transitions_of_an_effect_are_those_of_the_code() -> None:
    told = {words(row[0])[0]: words(row[1]) for row in machines("An effect", 1)}
    assert told == {state.value: sorted(after.value for after in then) for state, then in TRANSITIONS.items()}


def test_every_transcript_event_is_told_and_whether_it_changes_the_record() -> None:
    told = {words(name)[0]: changes for name, changes in machines("Transcript events")}
    assert told == {name: "no" if name in TELLING else "yes" for name in TYPES}


COLUMNS = ("class", "found", "facts", "wanted", "started", "window", "settled", "budget", "policy")


def cases() -> Iterator[dict[str, Any]]:
    """Every combination that the coordinator can be asked about."""
    flags = (True, False)
    for values in product(Idempotency, Found, Facts, flags, flags, flags, flags, flags, Policy):
        yield dict(zip(COLUMNS, values, strict=True))


def told_action(case: Mapping[str, Any], table: list[Row]) -> str:
    """The first line that fits."""
    spelled = {name: {True: "yes", False: "no"}.get(value, str(value)) for name, value in case.items()}
    return next(
        words(row[-1])[0]
        for row in table
        if all(not cell or cell.strip("`") == spelled[name] for name, cell in zip(COLUMNS, row[:-1], strict=True))
    )


def decided_action(case: Mapping[str, Any]) -> str:
    names = {"window": "in_window", "budget": "budget_left"}
    flags = {names.get(name, name): case[name] for name in COLUMNS[3:]}
    return decide_effect(case["class"], case["found"], case["facts"], **flags).action.value


def test_the_table_of_unknown_effects_says_what_the_coordinator_decides() -> None:
    table = machines("What becomes of an unknown effect")
    differ = [case for case in cases() if told_action(case, table) != decided_action(case)]
    assert differ == []


def test_no_line_of_that_table_is_idle_and_each_action_is_explained() -> None:
    table = machines("What becomes of an unknown effect")
    for number, row in enumerate(table):
        without = [*table[:number], *table[number + 1 :], ("",) * len(COLUMNS) + ("`none`",)]
        assert any(told_action(case, without) != told_action(case, table) for case in cases()), row
    explained = {words(row[0])[0] for row in machines("What becomes of an unknown effect", 1)}
    assert explained == {words(row[-1])[0] for row in table}


def test_every_test_that_a_guarantee_names_exists() -> None:
    rows = table_under(text_of("docs/guarantees.md"), "Cases")
    assert rows
    missing = [row for row in rows if not _there(*words(row[2]))]
    assert missing == []


def _there(path: str, name: str) -> bool:
    return (ROOT / path).is_file() and f"def {name}(" in text_of(path)


def test_every_file_that_a_document_names_exists() -> None:
    named = {
        name
        for document in documents(ROOT)
        for name in re.findall(
            r"`((?:tests|examples|docs|router|consumers|outbox|sessionstore)/[\w./-]+\.\w+)`", prose(document)
        )
    }
    assert named
    assert sorted(name for name in named if not (ROOT / name).is_file()) == []


def prose(document: Path) -> str:
    """A document without its blocks."""
    return FENCE.sub("", document.read_text(encoding="utf-8"))
