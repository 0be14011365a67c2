"""Settings: what is written wrongly is told before anything starts, and its value is shown to nobody."""

from pathlib import Path

import pytest

from sessionstore.errors import BadSettings
from turnline.cli.checkup.configuration import variables
from turnline.doors import tokens_of
from turnline.settings import load_settings, unknown_variables


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in unknown_variables():
        monkeypatch.delenv(name)


@pytest.mark.parametrize("token", [" ", "s3cret ", "s3 cret", "gehe\u00efm", "a\u00a0b", "a\nb"])
def test_a_token_that_no_header_could_carry_is_refused(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("TURNLINE_TOKEN", token)
    with pytest.raises(BadSettings, match="token: ") as told:
        load_settings()
    assert "s3cret" not in str(told.value)
    assert "gehe" not in str(told.value)


def test_a_misspelt_variable_is_told_with_what_was_probably_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLINE_PROT", "8420")
    monkeypatch.setenv("TURNLINE_CONFIG", "elsewhere.toml")
    monkeypatch.setenv("TURNLINE_HOOKS__GITHUB__SECRET", "s")
    monkeypatch.setenv("TURNLINE_EGRESS_ALLOW", "")
    assert unknown_variables() == ["TURNLINE_PROT"]
    [finding] = variables()
    assert (finding.says, finding.todo) == ("TURNLINE_PROT is no setting", "is TURNLINE_PORT meant?")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('agents = ["nobody"]', "tokens.ci: the app has no agent 'nobody'"),
        ('prefixes = ["agent:nobody/api:ci"]', "tokens.ci: the app has no agent 'nobody'"),
        ('prefixes = ["desk"]', "tokens.ci.prefixes: "),
    ],
)
def test_a_token_that_could_open_nothing_is_told_by_its_name(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "turnline.toml").write_text(f'[tokens.ci]\ntoken = "t0ken"\n{line}\n')
    with pytest.raises(BadSettings) as told:
        tokens_of(load_settings(), "admin", ("clerk",))
    assert says in str(told.value)


def test_a_token_for_an_agent_of_the_app_is_taken(tmp_path: Path) -> None:
    lines = '[tokens.ci]\ntoken = "t0ken"\nagents = ["clerk"]\nprefixes = ["agent:clerk/desk:1"]\n'
    (tmp_path / "turnline.toml").write_text(lines)
    assert [known.principal.name for known in tokens_of(load_settings(), "admin", ("clerk",))] == ["admin", "ci"]
