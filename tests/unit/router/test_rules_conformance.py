"""Every observed input of another router, run through ours; each difference is in a committed table with its reason.

`openclaw-routing.json` holds inputs and what was observed there. `our-answers.json` holds our answer for each row and,
where it differs, codes from its legend. Rows whose input is a key, a policy or a window tell it in our words under
`in`; the other inputs are translated here, field by field.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from router.inbound import Inbound, Peer, PeerKind
from router.keys import cron_scope, place_of
from router.namespace import Allowed, Namespace, chosen_key
from router.reset import Fresh, ResetPolicy, freshness
from router.rules import Route, Routing, route
from router.rules_settings import ResetTables, RoutingSettings, SendPolicySettings
from router.sendpolicy import Send, may_send
from sessionstore.errors import TurnlineError
from sessionstore.key import parse

DATA = Path(__file__).parents[2] / "data" / "routing"
THEIRS = json.loads((DATA / "openclaw-routing.json").read_text())
OURS = json.loads((DATA / "our-answers.json").read_text())
SECTIONS = [name for name in THEIRS if name != "source"]

Row = dict[str, Any]


def refusals_as_data(answer: Callable[[Row, Row], Any]) -> Callable[[Row, Row], Any]:
    def run(theirs: Row, ours: Row) -> Any:
        try:
            return answer(theirs, ours)
        except ValidationError:
            return {"error": "bad_settings"}
        except TurnlineError as error:
            return {"error": error.code if error.hint else "no hint"}

    return run


def told_kind(kind: str) -> str:
    return "dm" if kind == "direct" else kind


def told_place(peer: Row) -> Peer:
    return Peer(PeerKind(told_kind(peer["kind"])), peer["id"] or "")


def told_links(links: Row) -> Row:
    return {"identity_links": links} if links else {}


def told_group_scope(scope: str) -> str:
    return "shared:main" if scope == "main" else scope


def told_binding(binding: Row) -> Row:
    names = {"channel": "channel", "accountId": "account", "guildId": "guild", "teamId": "team", "roles": "roles"}
    told = {names[name]: value for name, value in binding["match"].items() if name != "peer"}
    peer = binding["match"].get("peer", {})
    told |= {"peer_kind": told_kind(peer["kind"])} if peer else {}
    told |= {"peer": peer["id"]} if "id" in peer else {}
    session = binding.get("session", {})
    told |= {"dm_scope": session["dmScope"]} if "dmScope" in session else {}
    told |= {"group_scope": told_group_scope(session["groupScope"])} if "groupScope" in session else {}
    return {"agent": binding["agentId"], **told}


def told_routing(config: Row) -> Routing:
    entries = config.get("agents", {}).get("entries", {"main": {"default": True}})
    default = [name for name, entry in entries.items() if entry.get("default")]
    told: Row = {"bindings": [told_binding(binding) for binding in config.get("bindings", [])]}
    told |= {"default_agent": default[0]} if default else {}
    told |= {"dm_scope": config["session"]["dmScope"]} if "session" in config else {}
    return RoutingSettings.model_validate(told).to_routing(entries)


def told_inbound(row: Row) -> Inbound:
    optional = {"accountId": "account", "guildId": "guild", "teamId": "team"}
    told = {ours: row[theirs] for theirs, ours in optional.items() if theirs in row}
    if row["channel"] == "slack" and "teamId" in row:
        told.setdefault("account", row["teamId"])  # as the Slack channel tells it: the workspace is the account
    parent = told_place(row["parentPeer"]) if "parentPeer" in row else None
    roles = frozenset(row.get("memberRoleIds", ()))
    return Inbound(row["channel"], told_place(row["peer"]), parent=parent, roles=roles, **told)


def answer_peer_key(theirs: Row, ours: Row) -> Any:
    row = theirs["in"]
    told = told_links(row.get("identityLinks", {}))
    told |= {"dm_scope": row["dmScope"]} if "dmScope" in row else {}
    told |= {"group_scope": told_group_scope(row["groupScope"])} if "groupScope" in row else {}
    routing = RoutingSettings.model_validate(told).to_routing([row["agentId"]])
    inbound = told_inbound({**row, "peer": {"kind": row["peerKind"], "id": row["peerId"]}})
    outcome = route(inbound, routing)
    return outcome.key.text if isinstance(outcome, Route) else {"error": outcome.code}


def answer_route(theirs: Row, ours: Row) -> Any:
    outcome = route(told_inbound(theirs["in"]), told_routing(theirs["config"]))
    if isinstance(outcome, Route):
        return {"agent": outcome.agent, "tier": outcome.tier.label, "key": outcome.key.text}
    return {"error": outcome.code}


def answer_thread(theirs: Row, ours: Row) -> Any:
    return parse(ours["in"]["base"]).with_thread(ours["in"]["thread"]).text


def answer_parse(theirs: Row, ours: Row) -> Any:
    key = parse(theirs["in"])
    return {"agent": key.agent, "parts": key.parts}


def answer_cron_scope(theirs: Row, ours: Row) -> Any:
    scope = cron_scope(parse(ours["in"]))
    if scope is None:
        return None
    return {"base": scope.base.text, "run": scope.run} if scope.run else {"base": scope.base.text}


def answer_delivery_route(theirs: Row, ours: Row) -> Any:
    place = place_of(parse(ours["in"]))
    names = ("channel", "account", "kind", "peer", "person", "thread")
    return {name: value for name in names if (value := getattr(place, name))}


def answer_store_key(theirs: Row, ours: Row) -> Any:
    caller = Namespace("default", "ops-token", agents=frozenset({"ops"}))
    outcome = chosen_key(caller, agent="ops", session_key=ours["in"], source="builds")
    return outcome.key.text if isinstance(outcome, Allowed) else {"error": outcome.code}


def answer_send_policy(theirs: Row, ours: Row) -> Any:
    row = ours["in"]
    policy = SendPolicySettings.model_validate(row.get("policy", {})).to_policy()
    session = Send(row["session"]) if "session" in row else None
    return str(may_send(parse(row["key"]), policy, session=session).action)


def answer_reset(theirs: Row, ours: Row) -> Any:
    return answer_freshness(ours["in"]) if "now" in ours["in"] else answer_window(ours["in"])


def answer_window(row: Row) -> Any:
    rules = ResetTables.model_validate(row["reset"]).to_rules()
    return told_policy(rules.policy(row["kind"], row.get("channel", "")))


def told_policy(policy: ResetPolicy) -> Row:
    told: Row = {"daily_at": policy.daily_at.isoformat("minutes"), "tz": policy.tz} if policy.daily_at else {}
    return told | ({"idle_s": policy.idle_s} if policy.idle_s else {})


def answer_freshness(row: Row) -> Any:
    policy = ResetTables.model_validate(row["reset"]).to_policy()
    outcome = freshness(policy, now=row["now"], started=row["started"], last_inbound=row["last_inbound"])
    if isinstance(outcome, Fresh):
        marks = {"daily_at": outcome.daily_at, "idle_at": outcome.idle_at}
        return {"fresh": True, **{name: mark for name, mark in marks.items() if mark is not None}}
    return {"fresh": False, "cause": outcome.cause, "at": outcome.at}


ANSWERS = {
    "peer_key": refusals_as_data(answer_peer_key),
    "route": refusals_as_data(answer_route),
    "thread": refusals_as_data(answer_thread),
    "parse": refusals_as_data(answer_parse),
    "cron_scope": refusals_as_data(answer_cron_scope),
    "delivery_route": refusals_as_data(answer_delivery_route),
    "store_key": refusals_as_data(answer_store_key),
    "send_policy": refusals_as_data(answer_send_policy),
    "reset": refusals_as_data(answer_reset),
}
EVERY_ROW = [(section, index) for section in SECTIONS for index in range(len(THEIRS[section]))]


@pytest.mark.parametrize(("section", "index"), EVERY_ROW)
def test_our_answer_is_the_committed_one(section: str, index: int) -> None:
    ours = OURS[section][index]
    answer = json.loads(json.dumps(ANSWERS[section](THEIRS[section][index], ours)))
    assert ours["row"] == index
    assert answer == ours["out"]


@pytest.mark.parametrize(("section", "index"), EVERY_ROW)
def test_every_difference_has_a_reason(section: str, index: int) -> None:
    ours, theirs = OURS[section][index], THEIRS[section][index]
    assert bool(ours["why"]) == (ours["out"] != theirs["out"])
    assert set(ours["why"]) <= set(OURS["legend"])


@pytest.mark.parametrize("index", range(len(THEIRS["route"])))
def test_another_agent_or_tier_needs_a_reason_of_routing(index: int) -> None:
    ours, theirs = OURS["route"][index], THEIRS["route"][index]["out"]
    tier = theirs.get("matchedBy", "").removeprefix("binding.").replace(".", "-").replace("+", "-")
    tier = "parent-peer" if tier == "peer-parent" else tier
    same = (ours["out"].get("agent", ""), ours["out"].get("tier", "")) == (theirs.get("agentId", ""), tier)
    assert same != any(OURS["legend"][code].startswith("Routing: ") for code in ours["why"])


@pytest.mark.parametrize(
    ("section", "index"), [(section, index) for section, index in EVERY_ROW if "spelled" in OURS[section][index]]
)
def test_a_refused_key_has_a_spelling_of_ours_where_it_means_something(section: str, index: int) -> None:
    ours = OURS[section][index]
    key = parse(ours["spelled"])
    if section == "store_key":
        caller = Namespace("default", "ops-token", agents=frozenset({"ops"}))
        outcome = chosen_key(caller, agent="ops", session_key=ours["spelled"])
        assert (outcome.key.text if isinstance(outcome, Allowed) else outcome.code) == ours["spelled_out"]
    else:
        assert {"agent": key.agent, "parts": [list(part) for part in key.parts]} == ours["spelled_out"]


def test_the_table_is_complete_and_its_legend_used() -> None:
    assert {section: len(OURS[section]) for section in SECTIONS} == {s: len(THEIRS[s]) for s in SECTIONS}
    used = {code for section, index in EVERY_ROW for code in OURS[section][index]["why"]}
    assert used == set(OURS["legend"])


def test_rows_that_name_different_chats_have_different_keys() -> None:
    """Theirs folds chats together in several of these rows; ours folds only what a scope or a link says."""
    isolated = {
        (row["in"]["channel"], row["in"]["accountId"], row["in"]["peerId"]): ours["out"]
        for row, ours in zip(THEIRS["peer_key"], OURS["peer_key"], strict=True)
        if row["in"].get("dmScope") == "per-account-channel-peer" and "identityLinks" not in row["in"]
    }
    keys = [json.dumps(out) for out in isolated.values() if isinstance(out, str)]
    assert len(keys) == len(set(keys)) >= 5
