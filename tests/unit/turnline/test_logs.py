"""Logs: telling is never a reason for the work to fail."""

import subprocess
import sys
from pathlib import Path

import pytest

TOLD = """
import sys, structlog
from turnline.logs import configure_logs

configure_logs({kind!r}, "info")
log = structlog.get_logger("test")
for n in range(3):
    log.warning("turn.failed", n=n, text="half a character: \\udcff")
try:
    raise ValueError("no")
except ValueError:
    log.exception("broke")
print("worked on")
"""


def run(code: str, stderr: str) -> str:
    with Path(stderr).open("wb") as sink:
        return subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=sink, timeout=30
        ).stdout.decode()


@pytest.mark.parametrize("kind", ["text", "json"])
def test_a_full_disk_behind_the_log_stops_no_work(kind: str) -> None:
    assert run(TOLD.format(kind=kind), "/dev/full") == "worked on\n"


@pytest.mark.parametrize("kind", ["text", "json"])
def test_a_reader_that_went_away_stops_no_work(kind: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.stdin.read()\n{TOLD.format(kind=kind)}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    process.stderr.close()
    process.stderr = None
    out, _ = process.communicate(b"", timeout=30)
    assert out == b"worked on\n"
