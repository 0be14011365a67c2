"""The guard against silent skips: in CI a skipped `service` or `browser` test fails the run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT, plant

SKIPPED = """
import pytest

@pytest.mark.{mark}
def test_it():
    pytest.skip("not there")

def test_other():
    pass
"""

BY_FIXTURE = """
import pytest
pytestmark = pytest.mark.service

@pytest.fixture
def server():
    pytest.skip("not there")

def test_it(server):
    pass
"""

BY_MODULE = """
import pytest
pytestmark = pytest.mark.browser
pytest.skip("not there", allow_module_level=True)
"""

EXPECTED_FAILURE = """
import pytest

@pytest.mark.service
@pytest.mark.xfail(reason="known")
def test_it():
    assert False
"""


def run(root: Path, text: str, *, ci: str, workers: str = "0") -> subprocess.CompletedProcess[str]:
    shutil.copy(ROOT / "pyproject.toml", root)
    plant(root, "tests/test_planted.py", text)
    shutil.copy(ROOT / "tests/conftest.py", root / "tests")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-n", workers, "-p", "no:cacheprovider"],
        cwd=root,
        env={**plain, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        (SKIPPED.format(mark="service"), "0"),
        (SKIPPED.format(mark="browser"), "1"),
        (BY_FIXTURE, "0"),
        (BY_MODULE, "0"),
        (BY_MODULE, "1"),
    ],
    ids=["service", "browser on a worker", "fixture", "module", "module on a worker"],
)
def test_in_ci_a_skipped_guarded_test_fails_the_run_and_is_named(tmp_path: Path, text: str, workers: str) -> None:
    ended = run(tmp_path, text, ci="true", workers=workers)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    named = [line for line in ended.stdout.split("\n") if line.endswith("was skipped")]
    assert len(named) == 1
    assert named[0].startswith("FAILED tests/test_planted.py")


@pytest.mark.parametrize(
    ("text", "ci"),
    [
        (SKIPPED.format(mark="service"), ""),
        (SKIPPED.format(mark="slow"), "true"),
        (EXPECTED_FAILURE, "true"),
    ],
    ids=["not in CI", "not guarded", "expected failure"],
)
def test_other_skips_leave_the_run_green(tmp_path: Path, text: str, ci: str) -> None:
    ended = run(tmp_path, text, ci=ci)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "was skipped" not in ended.stdout
