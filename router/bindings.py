"""Bindings: rules that give what arrives to an agent, and how specific each one is."""

from dataclasses import dataclass
from enum import IntEnum

from router.inbound import Inbound, Peer, PeerKind
from router.scopes import Scopes
from sessionstore.errors import BadSettings

ANY = "*"


class Tier(IntEnum):
    """How specific a match is; the smallest wins. The last two are not bindings of a channel."""

    PEER = 1
    PARENT_PEER = 2
    PEER_WILDCARD = 3
    GUILD_ROLES = 4
    GUILD = 5
    TEAM = 6
    ACCOUNT = 7
    CHANNEL = 8
    TENANT = 9
    DEFAULT = 10

    @property
    def label(self) -> str:
        """The name in settings, explanations and documents: `parent-peer`."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class Binding:
    """One rule. Every field that is not empty must match; ids compare byte for byte.

    `account="*"` says aloud what an empty account means: any account of the channel. `peer="*"` is any peer of that
    kind. `thread` narrows a peer to one thread of it. `roles` matches who holds any of them. `kind` "group" and
    "channel" are one kind here, since providers disagree on the word and ids do not overlap. `scopes` replaces the
    routing's own for what this rule wins. Raises BadSettings when the fields make no rule.
    """

    agent: str
    channel: str = ""
    account: str = ""
    peer: str = ""
    kind: PeerKind | None = None
    thread: str = ""
    guild: str = ""
    team: str = ""
    roles: frozenset[str] = frozenset()
    tenant: str = ""
    scopes: Scopes | None = None

    def __post_init__(self) -> None:
        narrowed = self.account or self.peer or self.guild or self.team or self.kind or self.thread or self.roles
        if not self.agent:
            raise BadSettings("A binding names no agent.", hint="Add `agent`.")
        if narrowed and not self.channel:
            raise BadSettings(
                f"A binding of {self.agent!r} names ids, but no channel.",
                hint="Add `channel`: ids mean something at one channel only.",
            )
        if not self.channel and not self.tenant:
            raise BadSettings(
                f"A binding of {self.agent!r} would match everything.",
                hint="Name a channel or a tenant, or set default_agent in [routing].",
            )
        self._check_peer()
        if self.roles and not (self.guild or self.team):
            raise BadSettings(
                f"A binding of {self.agent!r} names roles, but neither guild nor team.",
                hint="Add `guild` or `team`: roles belong to one.",
            )

    def _check_peer(self) -> None:
        if self.kind and not self.peer:
            raise BadSettings(
                f"A binding of {self.agent!r} names a peer kind, but no peer.",
                hint='Add the peer\'s id, or peer = "*" for every peer of that kind.',
            )
        if self.thread and self.peer in ("", ANY):
            raise BadSettings(
                f"A binding of {self.agent!r} names a thread, but not the peer that holds it.",
                hint="Add the peer's id.",
            )

    @property
    def width(self) -> int:
        """How many fields narrow this rule; breaks a tie inside a tier."""
        account = "" if self.account == ANY else self.account
        fields = (self.channel, account, self.peer, self.kind, self.thread)
        return sum(map(bool, (*fields, self.guild, self.team, self.roles, self.tenant)))


def match(binding: Binding, inbound: Inbound) -> Tier | str:
    """The tier on which a rule matches, or the name of the first field that does not."""
    plain = (
        ("tenant", binding.tenant, inbound.tenant),
        ("channel", binding.channel, inbound.channel),
        ("account", "" if binding.account == ANY else binding.account, inbound.account),
        ("guild", binding.guild, inbound.guild),
        ("team", binding.team, inbound.team),
    )
    for name, wanted, given in plain:
        if wanted and wanted != given:
            return name
    if binding.roles and not binding.roles & inbound.roles:
        return "roles"
    return _peer_tier(binding, inbound) if binding.peer else _wide_tier(binding)


def _peer_tier(binding: Binding, inbound: Inbound) -> Tier | str:
    holder = inbound.holder
    if binding.peer == ANY:
        return _of_kind(Tier.PEER_WILDCARD, binding, holder)
    if binding.thread:
        if binding.peer != holder.id:
            return "peer"
        return _of_kind(Tier.PEER, binding, holder) if binding.thread == inbound.thread_id else "thread"
    if binding.peer == inbound.peer.id and not inbound.thread:
        return _of_kind(Tier.PEER, binding, inbound.peer)
    if binding.peer == holder.id:
        return _of_kind(Tier.PARENT_PEER, binding, holder)
    return "peer"


def _of_kind(tier: Tier, binding: Binding, peer: Peer) -> Tier | str:
    return tier if _same_kind(binding, peer) else "kind"


def _same_kind(binding: Binding, peer: Peer) -> bool:
    return binding.kind is None or (binding.kind is PeerKind.DM) == (peer.kind is PeerKind.DM)


def _wide_tier(binding: Binding) -> Tier:
    if binding.roles:
        return Tier.GUILD_ROLES
    if binding.guild:
        return Tier.GUILD
    if binding.team:
        return Tier.TEAM
    if binding.account not in ("", ANY):
        return Tier.ACCOUNT
    return Tier.CHANNEL if binding.channel else Tier.TENANT
