"""What every test shares: Hypothesis profiles, and the guard against silent skips in CI."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

GUARDED = ("service", "browser")


class SkipGuard:
    """Fails the run when a `service` or `browser` test was skipped: in CI all of them can run.

    Registered in the controlling process; workers forward their reports to it.
    """

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        marks = [mark for mark in GUARDED if mark in report.keywords]
        if report.skipped and marks and not hasattr(report, "wasxfail"):
            self.skipped.append(f"{report.nodeid} ({', '.join(marks)})")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        # A module that skips itself as a whole is never asked for its marks; its text tells them.
        path = Path(report.nodeid.partition("::")[0])
        if report.skipped and path.is_file():
            text = path.read_text(encoding="utf-8")
            marks = [mark for mark in GUARDED if f"mark.{mark}" in text]
            if marks:
                self.skipped.append(f"{report.nodeid} ({', '.join(marks)})")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.skipped:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.skipped:
            terminalreporter.section("skipped in CI, where all must run", red=True)
            for name in self.skipped:
                terminalreporter.line(f"FAILED {name} was skipped")


def pytest_configure(config: pytest.Config) -> None:
    in_ci = os.environ.get("CI") == "true"
    settings.register_profile("local", deadline=None, print_blob=True, max_examples=50)
    # derandomize is said: Hypothesis turns it on by itself when it sees CI, and then finds nothing new.
    settings.register_profile("ci", deadline=None, print_blob=True, max_examples=100, derandomize=False)
    settings.load_profile("ci" if in_ci else "local")
    if in_ci and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkipGuard())
