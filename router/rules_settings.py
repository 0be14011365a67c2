"""The `[routing]` table of turnline.toml, checked where it enters.

[routing]
default_agent = "main"
dm_scope = "per-account-channel-peer"
group_scope = "per-thread"                 # or "shared:NAME"

[[routing.bindings]]
agent = "support"
channel = "slack"
account = "T1"
peer = "C2"

[routing.identity_links]
alice = ["telegram:111", { channel = "slack", account = "T1", id = "U7" }]

[routing.reset]
daily_at = "04:00"
tz = "Europe/Berlin"
"""

import re
from collections.abc import Iterable
from datetime import time
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from router.bindings import Binding
from router.identity import Identity, link
from router.inbound import PeerKind
from router.reset import ResetPolicy, ResetRules
from router.rules import Routing
from router.scopes import DmScope, GroupScope, Scopes
from router.sendpolicy import Send, SendPolicy, SendRule
from sessionstore.errors import BadKey, BadSettings
from sessionstore.key import DEFAULT_TENANT, SessionKey, parse

BINDINGS_MAX = 1_000
ROLES_MAX = 1_000
SHARED_PREFIX = "shared:"


def _whole_number_as_text(value: Any) -> Any:
    """TOML reads `peer = -100` as a number; a fraction would already have lost digits, so only whole ones pass."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _wall_time(value: Any) -> Any:
    """Numbers are refused: 4 would be read as four seconds past midnight."""
    if isinstance(value, time) or (isinstance(value, str) and re.fullmatch(r"\d\d:\d\d(:\d\d)?", value)):
        return value
    raise ValueError('write the time as text, for example "04:00"')


def _known_group_scope(value: str) -> str:
    named = value.startswith(SHARED_PREFIX) and value != SHARED_PREFIX
    if named or value in set(GroupScope) - {GroupScope.SHARED}:
        return value
    raise ValueError(f"{value!r} is no group scope; write per-group, per-thread, per-user-in-group or shared:NAME")


Id = Annotated[str, BeforeValidator(_whole_number_as_text), Field(min_length=1)]
Channel = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
GroupScopeText = Annotated[str, AfterValidator(_known_group_scope)]
Clock = Annotated[time, BeforeValidator(_wall_time)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IdentitySettings(_Strict):
    """One id of a person: a table, or the short form "channel:id"."""

    channel: Channel
    id: Id
    account: Id | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        channel, colon, person_id = value.partition(":")
        if not colon:
            raise ValueError(f"{value!r} names no channel; write it as channel:id, for example telegram:{value}")
        return {"channel": channel, "id": person_id}

    def to_identity(self) -> Identity:
        return Identity(self.channel, self.id, self.account or "")


class BindingSettings(_Strict):
    """One rule; what is left out matches anything, and an empty text is refused, since it would widen the rule."""

    agent: Id
    channel: Channel | None = None
    account: Id | None = None
    peer: Id | None = None
    peer_kind: PeerKind | None = None
    thread: Id | None = None
    guild: Id | None = None
    team: Id | None = None
    roles: Annotated[frozenset[Id], Field(max_length=ROLES_MAX)] = frozenset()
    tenant: Id | None = None
    dm_scope: DmScope | None = None
    group_scope: GroupScopeText | None = None

    def to_binding(self, scopes: Scopes) -> Binding:
        """The rule; a scope that it does not set is the routing's. Raises BadSettings when it makes no rule."""
        own = None
        if self.dm_scope or self.group_scope:
            own = _scopes(self.dm_scope or scopes.dm, self.group_scope or _group_text(scopes))
        return Binding(
            agent=self.agent,
            channel=self.channel or "",
            account=self.account or "",
            peer=self.peer or "",
            kind=self.peer_kind,
            thread=self.thread or "",
            guild=self.guild or "",
            team=self.team or "",
            roles=self.roles,
            tenant=self.tenant or "",
            scopes=own,
        )


class ResetSettings(_Strict):
    """A reset window; empty means that nothing is reset."""

    daily_at: Clock | None = None
    idle_minutes: Annotated[float, Field(gt=0)] | None = None
    tz: str = ""

    @field_validator("tz")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            return ZoneInfo(value).key if value else value
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{value!r} is not a time zone; write it as Europe/Berlin") from None

    def to_policy(self) -> ResetPolicy:
        idle_s = None if self.idle_minutes is None else self.idle_minutes * 60
        return ResetPolicy(self.daily_at, idle_s, self.tz)


class ResetTables(ResetSettings):
    """The default window; tables by kind (`dm`, `group`, `thread`) and by channel; the most specific holds whole."""

    dm: ResetSettings | None = None
    group: ResetSettings | None = None
    thread: ResetSettings | None = None
    channels: dict[Channel, ResetSettings] = Field(default_factory=dict)

    def to_rules(self) -> ResetRules:
        kinds = {"dm": self.dm, "group": self.group, "thread": self.thread}
        by_kind = {kind: table.to_policy() for kind, table in kinds.items() if table is not None}
        by_channel = {channel: table.to_policy() for channel, table in self.channels.items()}
        return ResetRules(self.to_policy(), by_kind, by_channel)


class SendRuleSettings(_Strict):
    """One send rule; the action is always said. `under` is a key, with everything below it."""

    action: Send
    tenant: Id | None = None
    agent: Id | None = None
    channel: Channel | None = None
    account: Id | None = None
    kind: str = ""
    under: str | None = None

    def to_rule(self) -> SendRule:
        """Raises BadKey when `under` is no key."""
        under = parse(self.under, self.tenant or DEFAULT_TENANT) if self.under is not None else None
        place = (self.channel or "", self.account or "", self.kind)
        return SendRule(self.action, self.tenant or "", self.agent or "", *place, under)


class SendPolicySettings(_Strict):
    """`[routing.send]`: rules, of which one deny is enough, and what holds when none matches."""

    rules: tuple[SendRuleSettings, ...] = ()
    default: Send = Send.ALLOW

    def to_policy(self) -> SendPolicy:
        return SendPolicy(tuple(rule.to_rule() for rule in self.rules), self.default)


class RoutingSettings(_Strict):
    """`[routing]`. A model's own errors are pydantic's; what spans tables is BadSettings from `to_routing`."""

    default_agent: Id | None = None
    dm_scope: DmScope = DmScope.PER_ACCOUNT_CHANNEL_PEER
    group_scope: GroupScopeText = str(GroupScope.PER_THREAD)
    bindings: Annotated[tuple[BindingSettings, ...], Field(max_length=BINDINGS_MAX)] = ()
    identity_links: dict[str, tuple[IdentitySettings, ...]] = Field(default_factory=dict)
    send: SendPolicySettings = Field(default_factory=SendPolicySettings)
    reset: ResetTables = Field(default_factory=ResetTables)

    def to_routing(self, agents: Iterable[str]) -> Routing:
        """The routing of an app with these agents. Raises BadSettings for an unknown agent or a rule that is none."""
        scopes = _scopes(self.dm_scope, self.group_scope)
        people = {name: [entry.to_identity() for entry in entries] for name, entries in self.identity_links.items()}
        _check_spelled([("person", name) for name in people] + [("shared", scopes.shared)])
        return Routing(
            agents=tuple(agents),
            default_agent=self.default_agent or "",
            bindings=tuple(binding.to_binding(scopes) for binding in self.bindings),
            scopes=scopes,
            links=link(people),
        )


def _scopes(dm: DmScope, group: str) -> Scopes:
    if group.startswith(SHARED_PREFIX):
        return Scopes(dm, GroupScope.SHARED, group.removeprefix(SHARED_PREFIX))
    return Scopes(dm, GroupScope(group))


def _group_text(scopes: Scopes) -> str:
    return f"{SHARED_PREFIX}{scopes.shared}" if scopes.group is GroupScope.SHARED else str(scopes.group)


def _check_spelled(parts: list[tuple[str, str]]) -> None:
    for kind, name in parts:
        try:
            SessionKey("default", "a", ((kind, name),))
        except BadKey as bad:
            raise BadSettings(f"The {kind} {name!r} cannot stand in a session key: {bad}", hint=bad.hint) from None
