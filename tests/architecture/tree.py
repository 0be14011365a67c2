"""The files of a checkout, as the rules see them: every rule takes a root and returns findings."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("turnline", "router", "consumers", "outbox", "sessionstore")
PYTHON_PLACES = (*PACKAGES, "tests", "examples")
NOT_SOURCE = frozenset({"__pycache__", "node_modules", "build", "dist", "turnline-data"})


def python_files(root: Path, places: tuple[str, ...] = PYTHON_PLACES) -> list[Path]:
    return sorted(
        path
        for place in places
        for path in (root / place).rglob("*.py")
        if not NOT_SOURCE.intersection(path.relative_to(root).parts)
    )


def parsed(root: Path, places: tuple[str, ...] = PYTHON_PLACES) -> Iterator[tuple[Path, ast.Module]]:
    for path in python_files(root, places):
        yield path, ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def tracked_files(root: Path) -> list[Path]:
    """What git tracks and still exists; without git (an unpacked sdist) every visible file."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
    if (root / ".git").exists() and listing.returncode == 0:
        names = [root / name for name in listing.stdout.split("\0") if name]
        return [path for path in names if path.is_file()]
    return sorted(path for path in root.rglob("*") if path.is_file() and _visible(root, path))


def _visible(root: Path, path: Path) -> bool:
    parts = path.relative_to(root).parts
    hidden = any(part.startswith(".") and part != ".ci" for part in parts)
    return not hidden and not NOT_SOURCE.intersection(parts)


def finding(root: Path, path: Path, line: int, sentence: str) -> str:
    return f"{path.relative_to(root)}:{line}: {sentence}"


def plant(root: Path, name: str, text: str) -> Path:
    """Write a file, and the folders above it, into a planted tree."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path
