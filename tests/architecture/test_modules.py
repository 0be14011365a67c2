"""Modules: named by a noun, opened by a sentence, absolute in what they import, without state."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGES, ROOT, finding, parsed, plant

Rule = Callable[[Path], list[str]]

VAGUE_NAMES = frozenset({"utils", "util", "common", "helpers", "helper", "base", "manager"})
CONTAINERS = frozenset({"list", "dict", "set", "defaultdict", "deque", "OrderedDict", "Counter"})


def vague_names(root: Path) -> list[str]:
    return [
        finding(root, path, 1, "the name says nothing; name the concept")
        for path, _ in parsed(root)
        if any(_is_vague(part) for part in path.relative_to(root).with_suffix("").parts)
    ]


def _is_vague(part: str) -> bool:
    return bool(VAGUE_NAMES.intersection(part.lower().split("_")))


def type_checking_blocks(root: Path) -> list[str]:
    return [
        finding(root, path, getattr(node, "lineno", 1), "TYPE_CHECKING hides an import cycle")
        for path, tree in parsed(root)
        for node in ast.walk(tree)
        if "TYPE_CHECKING" in _names(node)
    ]


def _names(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
            return (name,)
        case _:
            return ()


def relative_imports(root: Path) -> list[str]:
    return [
        finding(root, path, node.lineno, "imports are absolute")
        for path, tree in parsed(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]


def silent_modules(root: Path) -> list[str]:
    return [
        finding(root, path, 1, "the module opens without a docstring")
        for path, tree in parsed(root)
        if not (ast.get_docstring(tree) or "").strip()
    ]


def module_state(root: Path) -> list[str]:
    """Accumulators of a module: a name bound to an empty container, or a `global` statement."""
    return [
        finding(root, path, line, "a module holds no state; pass it in")
        for path, tree in parsed(root, PACKAGES)
        for line in _state_lines(tree)
    ]


def _state_lines(tree: ast.Module) -> Iterator[int]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and _is_empty(statement.value):
            yield statement.lineno
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node.lineno


def _is_empty(value: ast.expr | None) -> bool:
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
            return name in CONTAINERS and (not args or name in {"defaultdict", "deque"})
        case _:
            return False


RULES = [vague_names, type_checking_blocks, relative_imports, silent_modules, module_state]

PLANTED = [
    (vague_names, "router/utils.py", '"""Odds."""\n'),
    (vague_names, "consumers/lease_manager.py", '"""Leases."""\n'),
    (vague_names, "outbox/base/http.py", '"""HTTP."""\n'),
    (type_checking_blocks, "router/rule.py", "from typing import TYPE_CHECKING\n"),
    (type_checking_blocks, "router/rule.py", "import typing\nif typing.TYPE_CHECKING:\n    pass\n"),
    (relative_imports, "router/rule.py", "from .key import build\n"),
    (relative_imports, "tests/unit/test_rule.py", "def test():\n    from .. import key\n"),
    (silent_modules, "router/rule.py", "x = 1\n"),
    (silent_modules, "examples/01_echo.py", ""),
    (module_state, "router/rule.py", "seen: dict[str, int] = {}\n"),
    (module_state, "router/rule.py", "import collections\nseen = collections.defaultdict(list)\n"),
    (module_state, "router/rule.py", "def f():\n    global seen\n    seen = 1\n"),
]

CLEAN = '''"""The rules that map an event to a session key."""

from router.key import build

TABLE = {"a": 1}
NAMES: list[str] = ["b"]


def database() -> list[str]:
    found: list[str] = []
    return found
'''


@pytest.mark.parametrize("rule", RULES)
def test_the_checkout_keeps_the_rule(rule: Rule) -> None:
    assert rule(ROOT) == []


@pytest.mark.parametrize(("rule", "name", "text"), PLANTED)
def test_a_planted_breach_of_the_rule_is_found(tmp_path: Path, rule: Rule, name: str, text: str) -> None:
    plant(tmp_path, name, text)
    assert [found.split(":")[0] for found in rule(tmp_path)] == [name]


@pytest.mark.parametrize("rule", RULES)
def test_a_clean_module_breaks_no_rule(tmp_path: Path, rule: Rule) -> None:
    plant(tmp_path, "sessionstore/database.py", CLEAN)
    assert rule(tmp_path) == []
