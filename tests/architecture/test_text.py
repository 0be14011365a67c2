"""Text: no registry's host name and no trace of a workplace in any tracked file.

The words are kept here in pieces, so that this file does not break its own rule.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, finding, plant, tracked_files

# A registry is the installer's to choose: a mirror or an offline index must do.
REGISTRY_HOSTS = tuple(
    ".".join(labels)
    for labels in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("npmjs", "com"),
        ("npmjs", "org"),
        ("yarnpkg", "com"),
        ("crates", "io"),
        ("repo1", "maven", "org"),
        ("repo", "maven", "apache", "org"),
        ("search", "maven", "org"),
        ("central", "sonatype", "com"),
        ("proxy", "golang", "org"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
    )
)

WORKPLACE_WORDS = tuple(
    "".join(pieces)
    for pieces in (
        ("/work/", "main"),
        ("/work/", "shared"),
        ("/work/.", "library"),
        ("/tmp/", "venv"),
        ("house-", "style"),
        ("queue-outbox-", "lease"),
        ("sub-", "agent"),
        ("as an ai ", "model"),
        ("co-authored", "-by"),
        ("claude ", "code"),
        ("claude", ".md"),
        ("agents", ".md"),
    )
)


def mentions(root: Path, words: tuple[str, ...]) -> list[str]:
    pattern = re.compile("|".join(rf"(?<![\w-]){re.escape(word)}\b" for word in words), re.I)
    return [
        finding(root, path, number, f"mentions {match[0]}")
        for path in tracked_files(root)
        for number, line in enumerate(_lines(path), start=1)
        if (match := pattern.search(line))
    ]


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return [] if b"\0" in data else data.decode("utf-8", errors="replace").split("\n")


@pytest.mark.parametrize("words", [REGISTRY_HOSTS, WORKPLACE_WORDS], ids=["hosts", "workplace"])
def test_no_tracked_file_mentions_what_is_not_the_projects_own(words: tuple[str, ...]) -> None:
    assert mentions(ROOT, words) == []


@pytest.mark.parametrize("word", [*REGISTRY_HOSTS, *WORKPLACE_WORDS])
@pytest.mark.parametrize("name", [".ci/run", "docs/howto/install.md", "k8s/app.yaml"])
def test_a_planted_mention_is_found(tmp_path: Path, word: str, name: str) -> None:
    plant(tmp_path, name, f"one\nsee https://www.{word.upper()}/x or {word}\n")
    found = mentions(tmp_path, (word,))
    assert [line.rpartition(": ")[0] for line in found] == [f"{name}:2"]


def test_in_a_git_checkout_only_tracked_files_are_read(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    plant(tmp_path, "tracked.md", REGISTRY_HOSTS[0])
    plant(tmp_path, "untracked.md", REGISTRY_HOSTS[0])
    subprocess.run(["git", "add", "tracked.md"], cwd=tmp_path, check=True)
    assert [line.split(":")[0] for line in mentions(tmp_path, REGISTRY_HOSTS)] == ["tracked.md"]


def test_words_inside_other_words_are_left_alone(tmp_path: Path) -> None:
    plant(tmp_path, "docs/guide.md", f"my{REGISTRY_HOSTS[0]} and {REGISTRY_HOSTS[0]}anic\n")
    assert mentions(tmp_path, REGISTRY_HOSTS) == []
