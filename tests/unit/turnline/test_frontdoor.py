"""A project's own module of one of our names is told in one sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from turnline.frontdoor import NEIGHBOURS

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_a_module_in_the_way_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("x = 1\n")
    # `python -c` looks into the folder that it was started in first, as a script looks into its own.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", "import turnline"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert str(tmp_path / f"{name}.py") in last
    assert "rename" in last


def test_nothing_is_said_where_all_are_ours() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", "import turnline"], env=environment, check=True)
