"""Routing: which agent and which session an arrived message belongs to, decided purely, with every reason kept.

The most specific binding wins: exact peer, parent peer (a thread inherits its place), peer wildcard, guild + roles,
guild, team, account, channel, tenant; then the default agent, or the only one. Inside a tier the rule with more fields
wins, then the earlier one. Several agents and no owner is a refusal: a guess would show one agent's chat to another.
"""

from dataclasses import dataclass, field

from router.bindings import Binding, Tier, match
from router.identity import IdentityLinks
from router.inbound import Inbound
from router.keys import inbound_key
from router.scopes import Scopes
from sessionstore.errors import BadKey, BadSettings
from sessionstore.key import SessionKey


@dataclass(frozen=True, slots=True)
class Routing:
    """Everything that routing depends on. Raises BadSettings when a rule names an agent that is not there."""

    agents: tuple[str, ...]
    default_agent: str = ""
    bindings: tuple[Binding, ...] = ()
    scopes: Scopes = field(default_factory=Scopes)
    links: IdentityLinks = field(default_factory=lambda: IdentityLinks({}))

    def __post_init__(self) -> None:
        named = [binding.agent for binding in self.bindings]
        named += [self.default_agent] if self.default_agent else []
        missing = sorted(set(named) - set(self.agents))
        if missing:
            raise BadSettings(
                f"Routing names agents that the app does not have: {', '.join(missing)}.",
                hint=f"The app has: {', '.join(sorted(self.agents)) or 'none'}.",
            )


@dataclass(frozen=True, slots=True)
class Considered:
    """One binding's fate: the tier it matched on, or the first field that did not match. `index` is its place."""

    index: int
    binding: Binding
    match: Tier | str


@dataclass(frozen=True, slots=True)
class Route:
    """Where a message goes. `winner` is the index of the binding that won; None when the default did."""

    key: SessionKey
    agent: str
    tier: Tier
    winner: int | None
    scopes: Scopes
    inbound: Inbound
    considered: tuple[Considered, ...]


@dataclass(frozen=True, slots=True)
class RouteRefused:
    """Why a message goes nowhere: `no_agents`, `no_owner` or `bad_key`; `hint` says what to do."""

    code: str
    message: str
    hint: str
    inbound: Inbound
    considered: tuple[Considered, ...]


@dataclass(frozen=True, slots=True)
class NoOwner:
    """No agent can be named without guessing."""

    code: str
    message: str
    hint: str


def route(inbound: Inbound, routing: Routing) -> Route | RouteRefused:
    """Decide, without any I/O; the same inputs always give the same answer."""
    considered = tuple(
        Considered(index, binding, match(binding, inbound)) for index, binding in enumerate(routing.bindings)
    )
    won = _winner(considered)
    owner = won.binding.agent if won else fallback_agent(routing)
    if isinstance(owner, NoOwner):
        return RouteRefused(owner.code, owner.message, owner.hint, inbound, considered)
    scopes = (won.binding.scopes if won else None) or routing.scopes
    try:
        key = inbound_key(inbound, owner, scopes, routing.links)
    except BadKey as bad:
        return RouteRefused(bad.code, str(bad), bad.hint, inbound, considered)
    return Route(key, owner, _tier(won), won.index if won else None, scopes, inbound, considered)


def fallback_agent(routing: Routing) -> str | NoOwner:
    """The agent of what no binding claims: the default, or the only one there is."""
    if routing.default_agent:
        return routing.default_agent
    if len(routing.agents) == 1:
        return routing.agents[0]
    if not routing.agents:
        return NoOwner("no_agents", "The app has no agent.", "Give App(agents=[...]) at least one.")
    return NoOwner(
        "no_owner",
        f"No binding claims this, and there are {len(routing.agents)} agents: {', '.join(sorted(routing.agents))}.",
        "Set default_agent in [routing], or add a binding that matches.",
    )


def _tier(won: Considered | None) -> Tier:
    return won.match if won and isinstance(won.match, Tier) else Tier.DEFAULT


def _winner(considered: tuple[Considered, ...]) -> Considered | None:
    matched = [each for each in considered if isinstance(each.match, Tier)]
    return min(matched, key=lambda each: (each.match, -each.binding.width, each.index), default=None)
