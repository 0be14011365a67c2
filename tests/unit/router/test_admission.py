"""Who may speak, and that every drop says why."""

from dataclasses import replace

import pytest

from router.admission import AdmissionRules, Admit, Admitted, Arrival, Dropped, admit
from router.inbound import Inbound, Peer, PeerKind

DM = Arrival(Inbound("telegram", Peer(PeerKind.DM, "111"), sender="111"))
GROUP = Arrival(Inbound("slack", Peer(PeerKind.CHANNEL, "C1"), sender="U1"), mentioned=True)
OPEN = AdmissionRules(dm=Admit.OPEN, group=Admit.OPEN)


def code(arrival: Arrival, rules: AdmissionRules) -> str:
    match admit(arrival, rules):
        case Admitted():
            return "admitted"
        case Dropped(code, reason):
            assert reason.endswith(".")
            return code


@pytest.mark.parametrize(
    ("policy", "people", "expected"),
    [
        (Admit.OPEN, set(), "admitted"),
        (Admit.DISABLED, {"111"}, "disabled"),
        (Admit.ALLOWLIST, {"111"}, "admitted"),
        (Admit.ALLOWLIST, {"112"}, "not_allowed"),
        (Admit.PAIRING, {"111"}, "admitted"),
        (Admit.PAIRING, set(), "not_paired"),
    ],
)
def test_direct_chats(policy: Admit, people: set[str], expected: str) -> None:
    assert code(DM, AdmissionRules(dm=policy, people=frozenset(people))) == expected


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (AdmissionRules(), "not_allowed"),
        (AdmissionRules(group=Admit.DISABLED, places=frozenset({"C1"})), "disabled"),
        (AdmissionRules(places=frozenset({"C1"})), "admitted"),
        (AdmissionRules(places=frozenset({"c1"})), "not_allowed"),
        (AdmissionRules(group=Admit.OPEN), "admitted"),
        (AdmissionRules(group=Admit.OPEN, group_people=True), "not_allowed"),
        (AdmissionRules(group=Admit.OPEN, group_people=True, people=frozenset({"U1"})), "admitted"),
    ],
)
def test_groups(rules: AdmissionRules, expected: str) -> None:
    assert code(GROUP, rules) == expected


def test_in_groups_only_what_addresses_the_agent_counts() -> None:
    silent = replace(GROUP, mentioned=False)
    assert code(silent, OPEN) == "not_mentioned"
    assert code(silent, replace(OPEN, mention=False)) == "admitted"
    assert code(silent, replace(OPEN, unmentioned=frozenset({"C1"}))) == "admitted"
    assert code(replace(DM, mentioned=False), OPEN) == "admitted"


def test_a_thread_is_gated_like_the_place_that_holds_it() -> None:
    topic = Inbound("discord", Peer(PeerKind.CHANNEL, "T9"), parent=Peer(PeerKind.CHANNEL, "C1"), sender="U1")
    for inbound in (topic, replace(GROUP.inbound, thread="1.2")):
        arrival = Arrival(inbound, mentioned=False)
        listed = AdmissionRules(places=frozenset({"C1"}))
        assert code(arrival, listed) == "not_mentioned"
        assert code(arrival, replace(listed, unmentioned=frozenset({"C1"}))) == "admitted"


def test_loops_are_cut_even_behind_open_doors() -> None:
    for arrival in (DM, GROUP):
        assert code(replace(arrival, own=True), OPEN) == "own_message"
        assert code(replace(arrival, bot=True), OPEN) == "bot"
        listed = replace(OPEN, bots=frozenset({arrival.inbound.sender}))
        assert code(replace(arrival, bot=True), listed) == "admitted"
        assert code(replace(arrival, bot=True, own=True), listed) == "own_message"


def test_listed_people_do_not_include_a_sender_without_a_name() -> None:
    nameless = replace(GROUP, inbound=replace(GROUP.inbound, sender=""))
    assert code(nameless, replace(OPEN, group_people=True)) == "no_sender"
