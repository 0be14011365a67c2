"""Sizes: a file and a function stay small enough to be read at one go."""

import ast
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, finding, parsed, plant, python_files

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60


def files_too_long(root: Path) -> list[str]:
    lengths = ((path, path.read_bytes().count(b"\n")) for path in python_files(root))
    return [
        finding(root, path, lines, f"{lines} lines, at most {FILE_LINES_MAX}")
        for path, lines in lengths
        if lines > FILE_LINES_MAX
    ]


def functions_too_long(root: Path) -> list[str]:
    return [
        finding(root, path, node.lineno, f"{node.name} has {lines} lines of {FUNCTION_LINES_MAX}")
        for path, tree in parsed(root)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def test_no_file_is_longer_than_400_lines() -> None:
    assert files_too_long(ROOT) == []


def test_no_function_is_longer_than_60_lines() -> None:
    assert functions_too_long(ROOT) == []


@pytest.mark.parametrize("place", ["router", "tests/unit", "examples"])
def test_a_planted_file_of_401_lines_is_found_and_one_of_400_is_not(tmp_path: Path, place: str) -> None:
    plant(tmp_path, f"{place}/fits.py", "x = 1\n" * FILE_LINES_MAX)
    plant(tmp_path, f"{place}/long.py", "x = 1\n" * (FILE_LINES_MAX + 1))
    assert [found.split(":")[0] for found in files_too_long(tmp_path)] == [f"{place}/long.py"]


@pytest.mark.parametrize("opening", ["def", "async def"])
def test_a_planted_function_of_61_lines_is_found_and_one_of_60_is_not(tmp_path: Path, opening: str) -> None:
    body = "    x = 1\n"
    fits = f"{opening} fits():\n" + body * (FUNCTION_LINES_MAX - 1)
    long = f"{opening} long():\n" + body * FUNCTION_LINES_MAX
    plant(tmp_path, "outbox/relay.py", f"{fits}\n\n{long}")
    assert len(found := functions_too_long(tmp_path)) == 1
    assert "long has 61 lines" in found[0]
