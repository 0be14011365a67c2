"""Exports: the front door lists what it offers, in order, and says what each thing is."""

import ast
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import turnline
from tests.architecture.tree import ROOT, plant


def front_door(root: Path) -> ast.Module:
    return ast.parse((root / "turnline/__init__.py").read_text(encoding="utf-8"))


def unlisted(root: Path) -> list[str]:
    """Public names that the front door binds and `__all__` leaves out."""
    tree = front_door(root)
    listed = {name for name, _ in _listed(tree)}
    return sorted(name for name in _bound(tree) - listed if not name.startswith("_"))


def _bound(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name):
                names.add(name)
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Delete(targets=targets):
                names -= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def _listed(tree: ast.Module) -> list[tuple[str, int]]:
    """The names in `__all__`, each with its line."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elts) | ast.Tuple(elts=elts)):
                return [(str(name.value), name.lineno) for name in elts if isinstance(name, ast.Constant)]
    return []


def out_of_order(root: Path) -> list[str]:
    """Pairs of `__all__` that stand the wrong way round. A comment or blank line opens a group."""
    tree = front_door(root)
    lines = (root / "turnline/__init__.py").read_text(encoding="utf-8").split("\n")
    return [
        f"{after} stands after {before}"
        for (before, start), (after, end) in pairwise(_listed(tree))
        if after < before and not _group_opens(lines, start, end)
    ]


def _group_opens(lines: list[str], start: int, end: int) -> bool:
    between = lines[start : end - 1]
    return any(not line.strip() or line.lstrip().startswith("#") for line in between)


def repeated(module: ModuleType) -> list[str]:
    return sorted({name for name in module.__all__ if module.__all__.count(name) > 1})


def missing(module: ModuleType) -> list[str]:
    return [name for name in module.__all__ if not hasattr(module, name)]


def undocumented(module: ModuleType) -> list[str]:
    """Names without a docstring of their own that no module's opening words explain either."""
    return [
        name
        for name in module.__all__
        if not name.startswith("__") and not any(_explains(name, text) for text in _texts(module, name))
    ]


def _texts(module: ModuleType, name: str) -> Iterator[tuple[bool, str]]:
    value = getattr(module, name, None)
    if isinstance(value, type) or inspect.isroutine(value):
        yield True, value.__doc__ or ""
        yield False, getattr(sys.modules.get(value.__module__), "__doc__", None) or ""
    yield False, module.__doc__ or ""


def _explains(name: str, text: tuple[bool, str]) -> bool:
    own, words = text
    if own:
        # A dataclass without a docstring is given its signature as one.
        return bool(words.strip()) and not words.startswith(f"{name}(")
    return re.search(rf"\b{re.escape(name)}\b", words) is not None


def plant_door(root: Path, text: str) -> ModuleType:
    path = plant(root, "turnline/__init__.py", text)
    spec = importlib.util.spec_from_file_location("planted_door", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its module up by name while it is made.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


def test_the_front_door_lists_what_it_offers() -> None:
    assert getattr(turnline, "__all__", None), "turnline/__init__.py has no __all__"
    assert unlisted(ROOT) == []
    assert repeated(turnline) == []


def test_the_list_is_sorted_within_each_group() -> None:
    assert len(_listed(front_door(ROOT))) == len(getattr(turnline, "__all__", "?")), (
        "__all__ is one plain list of strings"
    )
    assert out_of_order(ROOT) == []


def test_each_listed_name_can_be_imported() -> None:
    assert missing(turnline) == []


def test_each_listed_name_is_documented() -> None:
    assert undocumented(turnline) == []


GOOD = '''"""A door. `Limit` is how much fits."""

from dataclasses import dataclass as _dataclass

__all__ = [
    # things
    "Box",
    "Limit",
    # verbs
    "close",
]

Limit = 3


@_dataclass
class Box:
    """Holds."""

    size: int


def close():
    """Close it."""
'''


def findings(root: Path, text: str) -> list[str]:
    module = plant_door(root, text)
    return [
        *unlisted(root),
        *out_of_order(root),
        *repeated(module),
        *missing(module),
        *undocumented(module),
    ]


def test_a_planted_good_door_has_no_findings(tmp_path: Path) -> None:
    assert findings(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ('    "close",\n', "", ["close"]),
        ('    "Box",\n    "Limit",\n', '    "Limit",\n    "Box",\n', ["Box stands after Limit"]),
        ("    # verbs\n", '    # verbs\n    "absent",\n', ["absent", "absent"]),
        ("    # verbs\n", '    # verbs\n    "Box",\n', ["Box"]),
        ('    """Holds."""\n', "", ["Box"]),
        ('    """Close it."""\n', "    return 1\n", ["close"]),
        (" `Limit` is how much fits.", "", ["Limit"]),
        ("Limit = 3\n", "Limit = 3\nimport json.decoder\n", ["json"]),
    ],
)
def test_a_planted_fault_of_the_door_is_found(tmp_path: Path, before: str, after: str, found: list[str]) -> None:
    text = GOOD.replace(before, after)
    assert text != GOOD
    assert findings(tmp_path, text) == found
