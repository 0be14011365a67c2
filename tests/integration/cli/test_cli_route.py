"""`turnline route`: the key, the winner, the losers; and tables of cases."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.integration.cli.conftest import Ran

Command = Callable[..., Ran]

CONFIG = {
    "default_agent": "main",
    "bindings": [
        {"agent": "support", "channel": "slack", "account": "T1"},
        {"agent": "legal", "channel": "slack", "account": "T1", "peer": "C2"},
        {"agent": "other", "channel": "telegram"},
    ],
}
MESSAGE = {
    "channel": "slack",
    "account": "T1",
    "peer": {"kind": "channel", "id": "C2"},
    "thread": "1.2",
    "sender": "U3",
}
KEY = "agent:legal/slack:T1/channel:C2/thread:1.2"


def written(tmp_path: Path, document: Any) -> str:
    path = tmp_path / "file.json"
    path.write_bytes(orjson.dumps(document))
    return str(path)


def test_a_fixture_is_explained_with_its_own_routing(turnline: Command, tmp_path: Path) -> None:
    out = turnline("route", "explain", written(tmp_path, {"in": MESSAGE, "config": CONFIG})).out
    assert KEY in out
    assert "parent-peer: rule 1 matches" in out
    assert "rule 0 (support): matched on account, which ranks below parent-peer" in out
    assert "rule 2 (other): channel is 'slack', the rule wants 'telegram'" in out


def test_a_bare_message_is_routed_by_the_settings(turnline: Command, tmp_path: Path) -> None:
    (tmp_path / "turnline.toml").write_text(
        '[routing]\ndefault_agent = "main"\n[[routing.bindings]]\nagent = "team"\nchannel = "slack"\n'
    )
    explained = turnline("route", "explain", written(tmp_path, MESSAGE), "--json").document
    assert (explained["agent"], explained["tier"], explained["rule"]) == ("team", "channel", 0)


def test_a_message_without_an_owner_is_refused_with_1(turnline: Command, tmp_path: Path) -> None:
    ran = turnline("route", "explain", written(tmp_path, {"in": MESSAGE, "config": {"agents": ["a", "b"]}}), "--json")
    assert (ran.code, ran.document["error"]) == (1, "no_owner")


def test_no_store_is_needed(turnline: Command, tmp_path: Path) -> None:
    file = written(tmp_path, {"in": MESSAGE, "config": CONFIG})
    assert turnline("route", "explain", file, "--data", str(tmp_path / "nowhere")).code == 0
    assert not (tmp_path / "nowhere").exists()


def test_a_table_passes_when_every_case_goes_where_it_says(turnline: Command, tmp_path: Path) -> None:
    cases = [
        {"in": MESSAGE, "expect": {"key": KEY, "agent": "legal", "tier": "parent-peer"}},
        {"in": {"channel": "sms", "peer": {"kind": "dm", "id": 49151}}, "expect": {"tier": "default"}},
        {"in": MESSAGE, "config": {"agents": []}, "expect": {"error": "no_agents"}},
    ]
    ran = turnline("route", "test", written(tmp_path, {"config": CONFIG, "cases": cases}), "--json")
    assert (ran.code, ran.document["passed"], ran.document["failed"]) == (0, 3, 0)


def test_a_case_that_differs_is_shown_with_both_and_the_reason(turnline: Command, tmp_path: Path) -> None:
    cases = [{"name": "contracts", "in": MESSAGE, "config": CONFIG, "expect": {"agent": "support"}}]
    ran = turnline("route", "test", written(tmp_path, cases))
    assert ran.code == 1
    for said in ("contracts", "expected support", "got      legal", "0 of 1 cases"):
        assert said in ran.out


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"channel": "slack"}, "peer: Field required"),
        ({**MESSAGE, "chanel": "x"}, "chanel: Extra inputs are not permitted"),
        ({"in": MESSAGE, "config": {"bindings": [{"channel": "slack"}]}}, "bindings.0.agent: Field required"),
        ([1], "does not hold one message"),
    ],
)
def test_a_wrong_file_is_told_by_its_field(turnline: Command, tmp_path: Path, document: Any, said: str) -> None:
    ran = turnline("route", "explain", written(tmp_path, document))
    assert ran.code == 1
    assert said in ran.err


def test_a_table_without_cases_is_refused(turnline: Command, tmp_path: Path) -> None:
    assert turnline("route", "test", written(tmp_path, []), "--json").problem["code"] == "bad_input"
