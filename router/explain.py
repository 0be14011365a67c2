"""Explaining a route: the key, the rule that won, the rules that lost, and why, as plain data and as text."""

from collections.abc import Iterator
from typing import Any

from router.bindings import Binding, Tier
from router.inbound import Inbound
from router.rules import Considered, Route, RouteRefused


def explain(outcome: Route | RouteRefused) -> dict[str, Any]:
    """Plain, JSON-able data. Stable names: scripts read them."""
    shared: dict[str, Any] = {
        "tiers": list(_tiers(outcome)),
        "lost": [_lost(each, outcome) for each in outcome.considered if each.index != _winner(outcome)],
    }
    if isinstance(outcome, RouteRefused):
        return {"error": outcome.code, "reason": outcome.message, "hint": outcome.hint, **shared}
    return {
        "key": outcome.key.text,
        "tenant": outcome.key.tenant,
        "agent": outcome.agent,
        "tier": outcome.tier.label,
        "rule": outcome.winner,
        "reason": _reason(outcome),
        "dm_scope": str(outcome.scopes.dm),
        "group_scope": str(outcome.scopes.group),
        **shared,
    }


def render(explained: dict[str, Any]) -> str:
    """The same for a terminal: one fact a line, without colours."""
    if "error" in explained:
        lines = [f"refused  {explained['error']}: {explained['reason']}", f"hint     {explained['hint']}"]
    else:
        lines = [
            f"key      {explained['key']}",
            f"agent    {explained['agent']}",
            f"won      {explained['tier']}: {explained['reason']}",
        ]
    lines += [f"lost     rule {lost['rule']} ({lost['agent']}): {lost['reason']}" for lost in explained["lost"]]
    tiers = ", ".join(f"{tier['tier']} {tier['outcome']}" for tier in explained["tiers"])
    return "\n".join([*lines, f"tiers    {tiers}"])


def _winner(outcome: Route | RouteRefused) -> int | None:
    return outcome.winner if isinstance(outcome, Route) else None


def _tiers(outcome: Route | RouteRefused) -> Iterator[dict[str, str]]:
    won = outcome.tier if isinstance(outcome, Route) else None
    matched = {each.match for each in outcome.considered}
    for tier in Tier:
        if won is not None and tier > won:
            said = "outranked" if tier in matched else "not reached"
        else:
            said = "won" if tier == won else "no match"
        yield {"tier": tier.label, "outcome": said}


def _reason(route: Route) -> str:
    if route.winner is None:
        tried = len(route.considered)
        if not tried:
            return "there are no bindings, so the default agent takes it"
        return f"none of the {tried} bindings matched, so the default agent takes it"
    return f"rule {route.winner} matches {_described(route.considered[route.winner].binding)}"


def _lost(each: Considered, outcome: Route | RouteRefused) -> dict[str, Any]:
    if isinstance(each.match, Tier):
        reason = _outranked(each, each.match, outcome)
    else:
        wanted, given = _compared(each.match, each.binding, outcome.inbound)
        reason = f"{each.match} is {given}, the rule wants {wanted}"
    return {"rule": each.index, "agent": each.binding.agent, "reason": reason}


def _outranked(each: Considered, tier: Tier, outcome: Route | RouteRefused) -> str:
    if isinstance(outcome, RouteRefused):
        return "matched, but no key can be made"
    if tier is not outcome.tier:
        return f"matched on {tier.label}, which ranks below {outcome.tier.label}"
    winner = outcome.considered[outcome.winner or 0].binding
    if each.binding.width < winner.width:
        return f"matched on the same tier with fewer fields than rule {outcome.winner}"
    return f"matched as well, but rule {outcome.winner} comes first"


def _compared(name: str, binding: Binding, inbound: Inbound) -> tuple[str, str]:
    wanted: object = getattr(binding, name)
    match name:
        case "peer":
            given: object = inbound.holder.id
        case "kind":
            given = inbound.holder.kind
        case "thread":
            given = inbound.thread_id
        case _:
            given = getattr(inbound, name)
    return _said(wanted), _said(given)


def _described(binding: Binding) -> str:
    names = ("tenant", "channel", "account", "peer", "kind", "thread", "guild", "team", "roles")
    return ", ".join(f"{name} {_said(value)}" for name in names if (value := getattr(binding, name)))


def _said(value: object) -> str:
    if isinstance(value, frozenset):
        return ascii(sorted(value)) if value else "not given"
    return ascii(str(value)) if value else "not given"
