"""Scopes: how much of a conversation shares one session. The default shares nothing."""

from dataclasses import dataclass
from enum import StrEnum


class DmScope(StrEnum):
    """What direct chats share."""

    MAIN = "main"  # every direct chat of the agent is one session
    PER_PEER = "per-peer"  # a linked person has one session over all channels
    PER_CHANNEL_PEER = "per-channel-peer"  # one per channel and person, whichever account received it
    PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"


class GroupScope(StrEnum):
    """What the messages of a group or channel share."""

    PER_GROUP = "per-group"  # threads and all
    PER_THREAD = "per-thread"  # each thread its own; what is in none shares the group's
    PER_USER_IN_GROUP = "per-user-in-group"  # threads and all, but each person apart
    SHARED = "shared"  # one named session, whatever else is routed to it


@dataclass(frozen=True, slots=True)
class Scopes:
    """`shared` is the name that SHARED groups use; direct chats under MAIN share the session named "main"."""

    dm: DmScope = DmScope.PER_ACCOUNT_CHANNEL_PEER
    group: GroupScope = GroupScope.PER_THREAD
    shared: str = "main"
