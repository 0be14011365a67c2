"""What `[routing]` accepts, and how it says no."""

import tomllib
from datetime import time

import pytest
from pydantic import ValidationError

from router.advice import advise
from router.identity import Identity
from router.inbound import PeerKind
from router.rules_settings import ResetTables, RoutingSettings
from router.scopes import DmScope, GroupScope, Scopes
from router.sendpolicy import Send
from sessionstore.errors import BadKey, BadSettings

TABLE = """
default_agent = "main"
dm_scope = "per-peer"
group_scope = "shared:ops room"

[[bindings]]
agent = "support"
channel = "slack"
account = "T1"
peer = "C2"
peer_kind = "channel"
group_scope = "per-thread"

[[bindings]]
agent = "main"
channel = "telegram"
peer = -100
thread = 42

[identity_links]
alice = ["telegram:111", "matrix:@a:b", { channel = "slack", account = "T1", id = "U7" }]

[send]
default = "allow"
[[send.rules]]
action = "deny"
under = "agent:main/cron:nightly"

[reset]
daily_at = 04:00:00
tz = "Europe/Berlin"
group = { idle_minutes = 30 }
"""


def settings(**table: object) -> RoutingSettings:
    return RoutingSettings.model_validate(table)


def test_a_whole_table_becomes_a_routing() -> None:
    read = RoutingSettings.model_validate(tomllib.loads(TABLE))
    routing = read.to_routing(["main", "support"])
    assert routing.default_agent == "main"
    assert routing.scopes == Scopes(DmScope.PER_PEER, GroupScope.SHARED, "ops room")
    first, second = routing.bindings
    assert (first.account, first.peer, first.kind) == ("T1", "C2", PeerKind.CHANNEL)
    assert first.scopes == Scopes(DmScope.PER_PEER, GroupScope.PER_THREAD)
    assert (second.peer, second.thread, second.scopes) == ("-100", "42", None)
    assert routing.links.names[Identity("slack", "U7", "T1")] == "alice"
    assert routing.links.names[Identity("matrix", "@a:b")] == "alice"
    assert read.send.to_policy().rules[0].action is Send.DENY
    rules = read.reset.to_rules()
    assert rules.policy("dm").daily_at == time(4)
    assert (rules.policy("group").daily_at, rules.policy("group").idle_s) == (None, 1800)


def test_without_a_table_everything_is_isolated() -> None:
    routing = settings().to_routing(["only"])
    assert routing.scopes == Scopes(DmScope.PER_ACCOUNT_CHANNEL_PEER, GroupScope.PER_THREAD)
    assert ResetTables().to_rules().policy("dm").daily_at is None


@pytest.mark.parametrize(
    "table",
    [
        {"defualt_agent": "main"},
        {"dm_scope": "per-person"},
        {"group_scope": "shared"},
        {"group_scope": "shared:"},
        {"bindings": [{"agent": "a"}, {"channel": "x"}]},
        {"bindings": [{"agent": "a", "channel": "Slack"}]},
        {"bindings": [{"agent": "a", "channel": "slack\n"}]},
        {"bindings": [{"agent": "a", "channel": "x", "account": ""}]},
        {"bindings": [{"agent": "a", "channel": "x", "peer": 1.5}]},
        {"bindings": [{"agent": "a", "channel": "x", "peer": True}]},
        {"identity_links": {"alice": ["111"]}},
        {"identity_links": {"alice": ["telegram:"]}},
        {"send": {"rules": [{"channel": "x"}]}},
        {"reset": {"daily_at": 4}},
        {"reset": {"daily_at": "4"}},
        {"reset": {"daily_at": "04:00+02:00", "tz": "UTC"}},
        {"reset": {"daily_at": "27:54", "tz": "UTC"}},
        {"reset": {"tz": "Mars/Olympus"}},
        {"reset": {"tz": "../../etc/passwd"}},
        {"reset": {"idle_minutes": 0}},
    ],
)
def test_what_cannot_be_meant_is_refused_when_read(table: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        RoutingSettings.model_validate(table)


def test_what_spans_tables_is_refused_with_a_hint() -> None:
    doubles = {"a": ["x:1"], "b": ["x:1"]}
    for table in [
        {"default_agent": "ghost"},
        {"bindings": [{"agent": "ghost", "channel": "x"}]},
        {"bindings": [{"agent": "main"}]},
        {"identity_links": doubles},
        {"identity_links": {"": ["x:1"]}},
        {"group_scope": "shared:" + "x" * 600},
    ]:
        with pytest.raises(BadSettings) as refused:
            RoutingSettings.model_validate(table).to_routing(["main"])
        assert refused.value.hint
    with pytest.raises(BadSettings, match="time zone"):
        ResetTables.model_validate({"daily_at": "04:00"}).to_rules()
    with pytest.raises(BadKey):
        settings(send={"rules": [{"action": "deny", "under": "cron:"}]}).send.to_policy()


def test_doubtful_bindings_are_pointed_out() -> None:
    routing = settings(
        bindings=[
            {"agent": "main", "channel": "slack"},
            {"agent": "main", "channel": "slack", "account": "*"},
            {"agent": "main", "channel": "slack", "account": "T3"},
            {"agent": "main", "channel": "irc"},
            {"agent": "main", "channel": "telegram"},
            {"agent": "main", "tenant": "acme"},
        ]
    ).to_routing(["main"])
    said = advise(routing, {"slack": ["T1", "T2"], "telegram": ["bot1"]})
    assert [sentence.split(" ", 2)[:2] for sentence in said] == [["Binding", number] for number in "0123"]
    assert 'account = "*"' in said[0]
    assert "can never win" in said[1]
    assert "does not have" in said[2]
    assert "not configured" in said[3]
