"""From what is known to a session key: every key of the system that is not read from text is made here.

Shapes, after `agent:NAME/`:

    telegram:bot1/dm:111                  a direct chat (default scope)
    via:telegram/dm:111                   a direct chat, whichever account received it
    person:alice                          a linked person, over all channels
    slack:T1/channel:C2[/thread:1.2]      a channel and its thread
    slack:T1/channel:C2/user:U3           one person in a channel
    shared:main                           a named shared session
    cron:nightly[/run:2026-12-01T06:00Z]  a job; one run of it when runs are isolated
    api:ci-token/source:builds            a caller's own area
    github:octo%2Fhello/pr:17             parts computed by a hook

A linked person is a `person`, never a `dm` or `user` part: a name chosen in the settings can then not meet the raw id
of a stranger. For the same reason an unlinked peer keeps its channel under every scope but `main`.
A second builder, however small, would one day spell a key differently and split a session; so there is none.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from router.identity import IdentityLinks
from router.inbound import Inbound, PeerKind
from router.scopes import DmScope, GroupScope, Scopes
from sessionstore.errors import BadKey
from sessionstore.key import THREAD, SessionKey

MAIN = "main"
RESERVED = frozenset({"agent", "api", "cron", "person", "shared", THREAD, "via"})


def make_key(tenant: str, agent: str, parts: Iterable[tuple[str, Any]]) -> SessionKey:
    """The one function that makes keys. Ids may be text or whole numbers (a hook's `pr` is 17). Raises BadKey."""
    return SessionKey(tenant, agent, tuple((kind, _id_text(kind, value)) for kind, value in parts))


def inbound_key(inbound: Inbound, agent: str, scopes: Scopes, links: IdentityLinks) -> SessionKey:
    """The session of an arrived message. Raises BadKey when the channel left out an id or gave an impossible one."""
    if inbound.channel in RESERVED:
        raise BadKey(
            f"A channel may not be named {inbound.channel!r}.",
            hint=f"Rename it; these first parts mean something else: {', '.join(sorted(RESERVED))}.",
        )
    if inbound.holder.kind is PeerKind.DM:
        parts = _dm_parts(inbound, scopes, links)
    else:
        parts = _group_parts(inbound, scopes, links)
    return make_key(inbound.tenant, agent, parts)


def cron_key(tenant: str, agent: str, job: str, run: str = "") -> SessionKey:
    """A job's session; with `run`, that of one isolated run. Raises BadKey."""
    parts = [("cron", job)]
    return make_key(tenant, agent, [*parts, ("run", run)] if run else parts)


def own_key(tenant: str, agent: str, principal: str, source: str) -> SessionKey:
    """The session of a caller that named none: one a source, in the caller's own area. Raises BadKey."""
    return make_key(tenant, agent, [("api", principal), ("source", source)])


@dataclass(frozen=True, slots=True)
class CronScope:
    """A key seen as a job's: the job's lasting session, and the run when the key is one run's."""

    base: SessionKey
    run: str = ""


def cron_scope(key: SessionKey) -> CronScope | None:
    """The job that a key belongs to; None for a key that is no job's."""
    match key.parts:
        case (("cron", _),):
            return CronScope(key)
        case (("cron", job), ("run", run)):
            return CronScope(cron_key(key.tenant, key.agent, job), run)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Place:
    """What a key says about where its session lives; empty text means that it does not say.

    For rules and for people to read. Never an address: under most scopes a key names no deliverable place, and a reply
    goes where its event's route says.
    """

    channel: str = ""
    account: str = ""
    kind: str = ""
    peer: str = ""
    person: str = ""
    thread: str = ""


def place_of(key: SessionKey) -> Place:
    """Read a key's place from its parts; nothing is guessed."""
    thread = key.thread or ""
    match key.base.parts:
        case (("shared", _), *_):
            return Place(thread=thread)
        case (("person", person),):
            return Place(kind=PeerKind.DM, person=person, thread=thread)
        case ((_, _), ("person", person)):
            channel, account = _first(key)
            return Place(channel, account, PeerKind.DM, person=person, thread=thread)
        case ((_, _), (kind, peer), *rest):
            channel, account = _first(key)
            return Place(channel, account, kind, peer, rest[0][1] if rest else "", thread)
        case _:
            channel, account = _first(key)
            return Place(channel, account, thread=thread)


def _first(key: SessionKey) -> tuple[str, str]:
    kind, part_id = key.parts[0]
    return (part_id, "") if kind == "via" else (kind, part_id)


def _dm_parts(inbound: Inbound, scopes: Scopes, links: IdentityLinks) -> list[tuple[str, str]]:
    if scopes.dm is DmScope.MAIN:
        return [("shared", MAIN)]
    who = _who(PeerKind.DM, inbound.holder.id, inbound, links)
    thread = _thread(inbound)
    if scopes.dm is DmScope.PER_ACCOUNT_CHANNEL_PEER:
        return [(inbound.channel, inbound.account), who, *thread]
    if scopes.dm is DmScope.PER_PEER and who[0] == "person":
        return [who, *thread]
    return [("via", inbound.channel), who, *thread]


def _group_parts(inbound: Inbound, scopes: Scopes, links: IdentityLinks) -> list[tuple[str, str]]:
    if scopes.group is GroupScope.SHARED:
        return [("shared", scopes.shared)]
    place = [(inbound.channel, inbound.account), (str(inbound.holder.kind), inbound.holder.id)]
    if scopes.group is GroupScope.PER_USER_IN_GROUP:
        return [*place, _who("user", inbound.person, inbound, links)]
    if scopes.group is GroupScope.PER_THREAD:
        return [*place, *_thread(inbound)]
    return place


def _who(kind: str, person_id: str, inbound: Inbound, links: IdentityLinks) -> tuple[str, str]:
    name = links.name(inbound.channel, inbound.account, person_id)
    return ("person", name) if name else (str(kind), person_id)


def _thread(inbound: Inbound) -> list[tuple[str, str]]:
    return [(THREAD, inbound.thread_id)] if inbound.thread_id else []


def _id_text(kind: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise BadKey(
        f"The id of the part {kind!r} came out as {type(value).__name__}, not as text or a whole number.",
        hint="Check the expression against the payload; an absent field gives null.",
    )
