"""What the doctor concludes, apart from where it looks."""

from pathlib import Path

import pytest

from turnline.cli.checkup.configuration import routing, shown
from turnline.cli.checkup.finding import Level
from turnline.cli.checkup.installation import one_installation, origins
from turnline.cli.checkup.workload import clock
from turnline.settings import Settings

HOME = {name: f"/site/{name}/__init__.py" for name in ("turnline", "router", "consumers", "outbox", "sessionstore")}
NOW = 1_800_000_000.0


def test_packages_of_one_place_are_in_order() -> None:
    assert one_installation(HOME).level is Level.OK
    assert one_installation(origins()).level is Level.OK


@pytest.mark.parametrize(
    "stranger", ["/home/me/app/router.py", "/home/me/app/router/__init__.py", "/site/router.py", ""]
)
def test_a_router_of_the_users_own_is_named_with_what_to_do(stranger: str) -> None:
    finding = one_installation({**HOME, "router": stranger})
    assert finding.level is Level.ATTENTION
    assert f"router comes from {stranger or 'nowhere'}" in finding.says
    assert "PYTHONSAFEPATH=1" in finding.todo


@pytest.mark.parametrize(
    ("now", "newest", "level"),
    [
        (NOW, NOW - 5, Level.OK),
        (NOW, 0.0, Level.OK),
        (NOW, NOW + 3600, Level.ATTENTION),
        (1000.0, 0.0, Level.ATTENTION),
    ],
)
def test_a_clock_behind_the_store_or_the_calendar_is_told(now: float, newest: float, level: Level) -> None:
    assert clock(now, newest).level is level


def test_settings_show_no_secret_and_no_password() -> None:
    settings = Settings(
        store="postgresql://me:pass-word@db/x",
        token="tok-en",
        hooks={"gh": {"kind": "github", "secret": "hook-secret"}},
        endpoints={"out": {"url": "https://me:pass-word@there/x"}},
        data=Path("/d"),
    )
    text = str(shown(settings))
    assert not any(secret in text for secret in ("pass-word", "tok-en", "hook-secret"))
    assert shown(settings)["store"] == "postgresql://me:***@db/x"


def test_a_rule_that_names_a_missing_agent_needs_attention() -> None:
    settings = Settings(routing={"default_agent": "main"})
    assert [f.level for f in routing(settings, frozenset({"other"}))] == [Level.ATTENTION]
    assert [f.level for f in routing(settings, frozenset({"main"}))] == [Level.OK]
