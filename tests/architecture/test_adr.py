"""Decisions: numbered without gaps, and each in the index."""

import re
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, plant

NAME = re.compile(r"(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md")


def index_faults(root: Path) -> list[str]:
    folder = root / "docs/adr"
    names = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    index = (folder / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\((\d{4}-[^)]+\.md)\)", index)
    return [
        *(f"{name}: not NNNN-some-words.md" for name in names if not NAME.fullmatch(name)),
        *(f"{name}: not number {n:04}" for n, name in enumerate(names, 1) if name[:4] != f"{n:04}"),
        *(f"{name}: not in the index" for name in names if name not in linked),
        *(f"{name}: in the index only" for name in linked if name not in names),
    ]


def test_each_decision_is_numbered_and_in_the_index() -> None:
    assert index_faults(ROOT) == []


@pytest.mark.parametrize(
    ("names", "index", "fault"),
    [
        (["0001-a.md"], "", "0001-a.md: not in the index"),
        ([], "[A](0001-a.md)", "0001-a.md: in the index only"),
        (["0002-a.md"], "[A](0002-a.md)", "0002-a.md: not number 0001"),
        (["0001-a.md", "0001-b.md"], "[](0001-a.md) [](0001-b.md)", "0001-b.md: not number 0002"),
        (["0001_A.md"], "[A](0001_A.md)", "0001_A.md: not NNNN-some-words.md"),
    ],
)
def test_a_planted_fault_of_the_index_is_found(tmp_path: Path, names: list[str], index: str, fault: str) -> None:
    plant(tmp_path, "docs/adr/README.md", index)
    for name in names:
        plant(tmp_path, f"docs/adr/{name}", "# A decision\n")
    assert fault in index_faults(tmp_path)
