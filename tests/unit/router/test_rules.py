"""What routing promises: the most specific rule wins, every loser has a reason, and no guess is made."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.bindings import Binding, Tier
from router.explain import explain, render
from router.identity import Identity, link
from router.inbound import Inbound, Peer, PeerKind
from router.keys import RESERVED, cron_key, make_key
from router.rules import Route, RouteRefused, Routing, route
from router.scopes import DmScope, GroupScope, Scopes
from sessionstore.errors import BadInput, BadKey, BadSettings

INBOUND = Inbound(
    channel="discord",
    account="app1",
    peer=Peer(PeerKind.CHANNEL, "T9"),
    parent=Peer(PeerKind.CHANNEL, "P1"),
    sender="U1",
    guild="G",
    team="W",
    roles=frozenset({"r1", "r2"}),
    tenant="acme",
)
BY_TIER = {
    Tier.PEER: Binding("a1", channel="discord", peer="T9"),
    Tier.PARENT_PEER: Binding("a2", channel="discord", peer="P1"),
    Tier.PEER_WILDCARD: Binding("a3", channel="discord", peer="*"),
    Tier.GUILD_ROLES: Binding("a4", channel="discord", guild="G", roles=frozenset({"r2", "x"})),
    Tier.GUILD: Binding("a5", channel="discord", guild="G"),
    Tier.TEAM: Binding("a6", channel="discord", team="W"),
    Tier.ACCOUNT: Binding("a7", channel="discord", account="app1"),
    Tier.CHANNEL: Binding("a8", channel="discord"),
    Tier.TENANT: Binding("a9", tenant="acme"),
}
AGENTS = ("main", *(f"a{number}" for number in range(1, 10)))


def routed(inbound: Inbound, *bindings: Binding, **settings: object) -> Route:
    outcome = route(inbound, Routing(AGENTS, "main", bindings, **settings))  # type: ignore[arg-type]
    assert isinstance(outcome, Route)
    return outcome


def key_of(inbound: Inbound, scopes: Scopes, **people: list[Identity]) -> str:
    return routed(inbound, scopes=scopes, links=link(people)).key.text


@pytest.mark.parametrize(("better", "worse"), list(pairwise(BY_TIER)))
def test_each_tier_beats_the_next_whatever_the_order(better: Tier, worse: Tier) -> None:
    for bindings in [(BY_TIER[better], BY_TIER[worse]), (BY_TIER[worse], BY_TIER[better])]:
        outcome = routed(INBOUND, *bindings)
        assert (outcome.agent, outcome.tier) == (BY_TIER[better].agent, better)


def test_the_default_agent_takes_what_no_binding_claims() -> None:
    outcome = routed(INBOUND, Binding("a1", channel="slack"))
    assert (outcome.agent, outcome.tier, outcome.winner) == ("main", Tier.DEFAULT, None)


WRONG = {
    "tenant": "globex",
    "channel": "slack",
    "account": "app2",
    "guild": "G2",
    "team": "W2",
    "roles": frozenset({"r3"}),
    "peer": "P2",
    "kind": PeerKind.DM,
}


@pytest.mark.parametrize("name", WRONG)
def test_one_field_that_does_not_match_loses_the_binding_and_is_named(name: str) -> None:
    full = Binding(
        "a1",
        channel="discord",
        account="app1",
        peer="P1",
        kind=PeerKind.CHANNEL,
        guild="G",
        team="W",
        roles=frozenset({"r1"}),
        tenant="acme",
    )
    assert routed(INBOUND, full).agent == "a1"
    outcome = routed(INBOUND, replace(full, **{name: WRONG[name]}))
    assert outcome.agent == "main"
    assert outcome.considered[0].match == name
    assert explain(outcome)["lost"][0]["reason"].startswith(f"{name} is ")


def test_in_one_tier_more_fields_win_and_then_the_earlier_rule() -> None:
    wide, narrow = Binding("a1", channel="discord", peer="P1"), Binding("a2", channel="discord", peer="P1", guild="G")
    assert routed(INBOUND, wide, narrow).agent == "a2"
    assert routed(INBOUND, wide, replace(wide, agent="a3")).agent == "a1"
    loser = explain(routed(INBOUND, wide, replace(wide, agent="a3")))["lost"][0]
    assert loser == {"rule": 1, "agent": "a3", "reason": "matched as well, but rule 0 comes first"}


def test_a_thread_inherits_its_place_and_may_be_bound_itself() -> None:
    topic = Inbound("telegram", Peer(PeerKind.GROUP, "-100"), account="bot1", thread="42")
    place, thread = Binding("a1", channel="telegram", peer="-100"), Binding("a2", "telegram", peer="-100", thread="42")
    assert (routed(topic, place).agent, routed(topic, place).tier) == ("a1", Tier.PARENT_PEER)
    assert (routed(topic, place, thread).agent, routed(topic, place, thread).tier) == ("a2", Tier.PEER)
    assert routed(replace(topic, thread="43"), place, thread).agent == "a1"
    assert routed(replace(topic, thread=""), place, thread).tier is Tier.PEER


def test_both_ways_to_tell_a_thread_give_one_key() -> None:
    inside = Inbound("discord", Peer(PeerKind.CHANNEL, "P1"), account="app1", thread="T9", tenant="acme")
    assert routed(inside).key == routed(INBOUND).key
    assert routed(inside).key.text == "agent:main/discord:app1/channel:P1/thread:T9"
    with pytest.raises(BadInput):
        replace(INBOUND, thread="T9")


def test_several_agents_without_owner_are_refused_and_a_sole_agent_is_none_of_them() -> None:
    refused = route(INBOUND, Routing(("a", "b"), bindings=(Binding("a", channel="slack"),)))
    assert isinstance(refused, RouteRefused)
    assert (refused.code, bool(refused.hint)) == ("no_owner", True)
    assert explain(refused)["error"] == "no_owner"
    sole = route(INBOUND, Routing(("home",)))
    assert isinstance(sole, Route)
    assert sole.agent == "home"
    none = route(INBOUND, Routing(()))
    assert isinstance(none, RouteRefused)
    assert none.code == "no_agents"


def test_a_binding_of_an_unknown_agent_never_becomes_a_routing() -> None:
    for routing in [{"default_agent": "ghost"}, {"bindings": (Binding("ghost", channel="x"),)}]:
        with pytest.raises(BadSettings, match="ghost"):
            Routing(("a",), **routing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"agent": ""},
        {"account": "app1"},
        {"peer": "P1", "tenant": "acme"},
        {"channel": "x", "kind": PeerKind.DM},
        {"channel": "x", "thread": "1"},
        {"channel": "x", "thread": "1", "peer": "*"},
        {"channel": "x", "roles": frozenset({"r"})},
    ],
)
def test_fields_that_make_no_rule_are_refused_with_a_hint(fields: dict[str, object]) -> None:
    with pytest.raises(BadSettings) as refused:
        Binding(**{"agent": "a", **fields})  # type: ignore[arg-type]
    assert refused.value.hint


def test_a_message_that_names_no_place_is_a_refusal_and_not_a_shared_session() -> None:
    for inbound in [
        replace(INBOUND, parent=Peer(PeerKind.CHANNEL, "")),
        replace(INBOUND, account=""),
        replace(INBOUND, channel="Discord"),
        replace(INBOUND, parent=None, peer=Peer(PeerKind.DM, "\ud800")),
        replace(INBOUND, parent=None, peer=Peer(PeerKind.DM, "x" * 600)),
        *(replace(INBOUND, channel=reserved) for reserved in RESERVED),
    ]:
        refused = route(inbound, Routing(("main",)))
        assert isinstance(refused, RouteRefused)
        assert (refused.code, bool(refused.hint)) == ("bad_key", True)
    nobody = replace(INBOUND, sender="")
    per_user = Routing(("main",), scopes=Scopes(group=GroupScope.PER_USER_IN_GROUP))
    assert isinstance(route(nobody, per_user), RouteRefused)


DM = Inbound("telegram", Peer(PeerKind.DM, "111"), account="bot1")


@pytest.mark.parametrize(
    ("scope", "alone", "linked"),
    [
        (DmScope.MAIN, "shared:main", "shared:main"),
        (DmScope.PER_PEER, "via:telegram/dm:111", "person:alice"),
        (DmScope.PER_CHANNEL_PEER, "via:telegram/dm:111", "via:telegram/person:alice"),
        (DmScope.PER_ACCOUNT_CHANNEL_PEER, "telegram:bot1/dm:111", "telegram:bot1/person:alice"),
    ],
)
def test_each_dm_scope_shares_what_it_says(scope: DmScope, alone: str, linked: str) -> None:
    assert key_of(DM, Scopes(dm=scope)) == f"agent:main/{alone}"
    assert key_of(DM, Scopes(dm=scope), alice=[Identity("telegram", "111")]) == f"agent:main/{linked}"


def test_a_link_holds_at_its_channel_and_account_only() -> None:
    scopes = Scopes(dm=DmScope.PER_PEER)
    assert key_of(replace(DM, channel="signal"), scopes, alice=[Identity("telegram", "111")]).endswith("dm:111")
    at_bot2 = [Identity("telegram", "111", "bot2")]
    assert key_of(DM, scopes, alice=at_bot2).endswith("dm:111")
    assert key_of(replace(DM, account="bot2"), scopes, alice=at_bot2).endswith("person:alice")
    with pytest.raises(BadSettings):
        link({"alice": [Identity("telegram", "111")], "bob": [Identity("telegram", "111")]})


def test_a_peer_that_is_called_like_a_linked_person_is_somebody_else() -> None:
    scopes = Scopes(dm=DmScope.PER_CHANNEL_PEER)
    impostor = replace(DM, peer=Peer(PeerKind.DM, "alice"))
    people = {"alice": [Identity("telegram", "111")]}
    assert key_of(impostor, scopes, **people) != key_of(DM, scopes, **people)


@pytest.mark.parametrize(
    ("scope", "key"),
    [
        (GroupScope.PER_GROUP, "discord:app1/channel:P1"),
        (GroupScope.PER_THREAD, "discord:app1/channel:P1/thread:T9"),
        (GroupScope.PER_USER_IN_GROUP, "discord:app1/channel:P1/user:U1"),
        (GroupScope.SHARED, "shared:ops"),
    ],
)
def test_each_group_scope_shares_what_it_says(scope: GroupScope, key: str) -> None:
    assert key_of(INBOUND, Scopes(group=scope, shared="ops")) == f"agent:main/{key}"


def test_a_binding_may_bring_its_own_scopes() -> None:
    outcome = routed(DM, Binding("a1", channel="telegram", scopes=Scopes(dm=DmScope.MAIN)))
    assert outcome.key.text == "agent:a1/shared:main"


opaque = st.text(alphabet=":/%+=@!;aA1é😀\n ", min_size=1, max_size=6)
messages = st.builds(
    Inbound,
    channel=st.sampled_from(["telegram", "slack"]),
    account=opaque,
    peer=st.builds(Peer, st.sampled_from(PeerKind), opaque),
    thread=st.one_of(st.just(""), opaque),
)


@given(messages, messages)
def test_by_default_two_messages_share_a_session_only_in_the_same_place(one: Inbound, other: Inbound) -> None:
    same = replace(one, sender=other.sender) == replace(other, sender=other.sender)
    assert (routed(one).key == routed(other).key) == same


@given(messages, st.permutations(list(BY_TIER.values())))
def test_only_the_rules_and_not_their_order_decide_between_tiers(inbound: Inbound, rules: list[Binding]) -> None:
    assert routed(inbound, *rules).agent == routed(inbound, *BY_TIER.values()).agent


def test_an_explanation_is_plain_data_and_names_every_rule_and_tier() -> None:
    outcome = routed(INBOUND, *BY_TIER.values(), Binding("main", channel="slack"))
    told = explain(outcome)
    assert json.loads(json.dumps(told)) == told
    assert told["rule"] == 0
    assert told["reason"] == "rule 0 matches channel 'discord', peer 'T9'"
    assert [lost["rule"] for lost in told["lost"]] == list(range(1, 10))
    assert told["lost"][-1]["reason"] == "channel is 'discord', the rule wants 'slack'"
    assert [tier["tier"] for tier in told["tiers"]] == [tier.label for tier in Tier]
    assert [tier["outcome"] for tier in told["tiers"]] == ["won", *["outranked"] * 8, "not reached"]


def test_an_explanation_says_when_bindings_exist_and_none_matched() -> None:
    told = explain(routed(DM, Binding("a1", channel="slack"), Binding("a2", "telegram", account="bot2")))
    assert told["reason"] == "none of the 2 bindings matched, so the default agent takes it"
    assert [tier["outcome"] for tier in told["tiers"]] == [*["no match"] * 9, "won"]


def test_the_rendered_explanation_shows_key_winner_and_losers_and_no_control_characters() -> None:
    text = render(explain(routed(replace(INBOUND, guild="\x1b[31mG\n"), *BY_TIER.values())))
    assert text.splitlines()[0] == "key      agent:a1/discord:app1/channel:P1/thread:T9"
    assert "won      peer: rule 0 matches" in text
    assert "lost     rule 4 (a5): guild is" in text
    assert "\x1b" not in text
    refused = render(explain(route(INBOUND, Routing(("a", "b")))))
    assert refused.startswith("refused  no_owner: ")
    assert "hint     Set default_agent" in refused


def test_hook_and_cron_keys_come_from_the_one_builder() -> None:
    hook = make_key("default", "ci", [("github", "octo/hello"), ("pr", 17)])
    assert str(hook) == "agent:ci/github:octo%2Fhello/pr:17"
    assert str(cron_key("default", "ops", "nightly")) == "agent:ops/cron:nightly"
    assert str(cron_key("default", "ops", "nightly", "2026-12-01T06:00Z")).endswith("/run:2026-12-01T06%3A00Z")
    for absent in (None, True, 1.5, [], ""):
        with pytest.raises(BadKey) as refused:
            make_key("default", "ci", [("github", "octo/hello"), ("pr", absent)])
        assert refused.value.hint
