"""Imports: one way between the packages, and no cycle among modules, not even inside functions."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.architecture.tree import PACKAGES, ROOT, parsed, plant

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
Graph = Mapping[str, set[str]]


def module_graph(root: Path) -> Graph:
    """Who imports whom, function-level imports included.

    `from a.b import c` points at `a.b.c` when that is a module, else at `a.b`. The packages above
    a module are not counted as imported by it: a package that re-exports its modules is no cycle.
    """
    trees = {_module_name(root, path): tree for path, tree in parsed(root, PACKAGES)}
    return {name: set(_imported(tree, trees)) for name, tree in trees.items()}


def _module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, modules: Mapping[str, ast.Module]) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names if alias.name in modules)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    inner = f"{module}.{alias.name}"
                    if inner in modules or module in modules:
                        yield inner if inner in modules else module


def cycles(graph: Graph) -> list[list[str]]:
    """The strongly connected components that hold a cycle: each module reaches every other."""
    reach = {name: _reachable(graph, name) for name in graph}
    found = {
        tuple(sorted(other for other in reach[name] if name in reach[other])) for name in graph if name in reach[name]
    }
    return [list(component) for component in sorted(found)]


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    todo = list(graph[start])
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(graph[name])
    return seen


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(LINT_IMPORTS), "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


def plant_packages(root: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", root / "pyproject.toml")
    for package in PACKAGES:
        plant(root, f"{package}/__init__.py", '"""A package."""\n')


def test_imports_run_one_way() -> None:
    ended = lint_imports(ROOT)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycles(module_graph(ROOT)) == []


def test_the_graph_sees_the_modules_of_every_package() -> None:
    assert {name.partition(".")[0] for name in module_graph(ROOT)} == set(PACKAGES)


def test_a_planted_import_against_the_direction_is_found(tmp_path: Path) -> None:
    plant_packages(tmp_path)
    assert lint_imports(tmp_path).returncode == 0
    plant(tmp_path, "outbox/relay.py", '"""Relay."""\n\n\ndef f():\n    import consumers\n')
    ended = lint_imports(tmp_path)
    assert ended.returncode == 1
    assert "outbox.relay -> consumers" in ended.stdout


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("import router.rule\n", "import router.key\n"),
        ("from router.rule import match\n", "from router import key\n"),
        ("def f():\n    from router.rule import match\n", "async def g():\n    import router.key\n"),
    ],
)
def test_a_planted_cycle_is_found_wherever_the_imports_stand(tmp_path: Path, first: str, second: str) -> None:
    plant(tmp_path, "router/__init__.py", "")
    plant(tmp_path, "router/key.py", first)
    plant(tmp_path, "router/rule.py", second)
    assert cycles(module_graph(tmp_path)) == [["router.key", "router.rule"]]


def test_a_cycle_through_a_third_module_and_a_package_is_found(tmp_path: Path) -> None:
    plant(tmp_path, "outbox/__init__.py", "from outbox.relay import run\n")
    plant(tmp_path, "outbox/relay.py", "from outbox.lane import Lane\n")
    plant(tmp_path, "outbox/lane.py", "from outbox import run\n")
    assert cycles(module_graph(tmp_path)) == [["outbox", "outbox.lane", "outbox.relay"]]


def test_a_package_that_reexports_its_modules_is_no_cycle(tmp_path: Path) -> None:
    plant(tmp_path, "outbox/__init__.py", "from outbox.relay import run\n")
    plant(tmp_path, "outbox/relay.py", "from outbox.lane import Lane\n")
    plant(tmp_path, "outbox/lane.py", "import json\n")
    assert cycles(module_graph(tmp_path)) == []
