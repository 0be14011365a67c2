"""Admission: whether an arrived message becomes an event at all; every drop has a code and a sentence."""

from dataclasses import dataclass
from enum import StrEnum

from router.inbound import Inbound, PeerKind


class Admit(StrEnum):
    """Who may speak to the agent in one kind of place."""

    OPEN = "open"
    ALLOWLIST = "allowlist"
    PAIRING = "pairing"  # an allowlist that people ask to be put on
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class AdmissionRules:
    """One account's rules. Direct chats ask for pairing and groups for a listed place, unless the settings say more.

    `people` are sender ids (of direct chats, and in groups when `group_people` is set), `places` ids of groups and
    channels, `bots` ids of other bots that may speak. Ids compare byte for byte.
    """

    dm: Admit = Admit.PAIRING
    group: Admit = Admit.ALLOWLIST
    people: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    group_people: bool = False
    mention: bool = True  # in groups only what addresses the agent counts
    unmentioned: frozenset[str] = frozenset()  # places that need no mention; their threads inherit
    bots: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message and what its channel can tell about it. `mentioned` counts a reply to the agent and a command to it."""

    inbound: Inbound
    own: bool = False  # sent by this very account
    bot: bool = False
    mentioned: bool = False


@dataclass(frozen=True, slots=True)
class Admitted:
    """It becomes an event."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """It does not; this is stored and can be asked for.

    Codes: own_message, bot, disabled, not_allowed, not_paired (offer a pairing code), no_sender, not_mentioned.
    """

    code: str
    reason: str


def admit(arrival: Arrival, rules: AdmissionRules) -> Admitted | Dropped:
    """Judge one arrival. `rules.people` holds those paired so far. Loop guards come first: open doors have them too."""
    if arrival.own:
        return Dropped("own_message", "The account's own message came back to it.")
    if arrival.bot and arrival.inbound.person not in rules.bots:
        return Dropped("bot", f"The sender {arrival.inbound.person!r} is a bot that is not listed in `bots`.")
    if arrival.inbound.holder.kind is PeerKind.DM:
        return _dm(arrival, rules)
    return _group(arrival, rules)


def _dm(arrival: Arrival, rules: AdmissionRules) -> Admitted | Dropped:
    person = arrival.inbound.person
    match rules.dm:
        case Admit.DISABLED:
            return Dropped("disabled", "Direct chats are disabled here.")
        case Admit.OPEN:
            return Admitted()
        case Admit.ALLOWLIST | Admit.PAIRING if person in rules.people:
            return Admitted()
        case Admit.ALLOWLIST:
            return Dropped("not_allowed", f"The sender {person!r} is not on the allowlist.")
        case Admit.PAIRING:
            return Dropped("not_paired", f"The sender {person!r} is not paired yet.")


def _group(arrival: Arrival, rules: AdmissionRules) -> Admitted | Dropped:
    place, person = arrival.inbound.holder.id, arrival.inbound.person
    if rules.group is Admit.DISABLED:
        return Dropped("disabled", "Groups are disabled here.")
    if rules.group is not Admit.OPEN and place not in rules.places:
        return Dropped("not_allowed", f"The place {place!r} is not on the allowlist.")
    if rules.group_people and not person:
        return Dropped("no_sender", "The message names no sender, and only listed people may speak here.")
    if rules.group_people and person not in rules.people:
        return Dropped("not_allowed", f"The sender {person!r} is not on the allowlist.")
    if rules.mention and not arrival.mentioned and place not in rules.unmentioned:
        return Dropped("not_mentioned", "The message does not address the agent.")
    return Admitted()
