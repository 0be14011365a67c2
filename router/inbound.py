"""What a channel says about one arrived message: where it was said, and by whom."""

from dataclasses import dataclass
from enum import StrEnum

from sessionstore.errors import BadInput
from sessionstore.key import DEFAULT_TENANT

DEFAULT_ACCOUNT = "default"


class PeerKind(StrEnum):
    """What kind of place a peer is."""

    DM = "dm"
    GROUP = "group"
    CHANNEL = "channel"


@dataclass(frozen=True, slots=True)
class Peer:
    """A place at a channel: a person's direct chat, a group or a channel. The id is the provider's, byte for byte."""

    kind: PeerKind
    id: str


@dataclass(frozen=True, slots=True)
class Inbound:
    """One arrived message, as far as routing cares. Ids are opaque; empty text means "there is none".

    A thread is told in one of two ways: `thread` is its id inside `peer` (Slack, Telegram topics, Matrix), or `peer`
    is the thread itself and `parent` the place that holds it (Discord, where a thread is a channel). Both give the
    same key. `account` names the bot, app or workspace that received it, and peer ids are unique under it: two Slack
    workspaces are two accounts. A channel with a single unnamed one has "default".
    Raises BadInput when both ways are used at once.
    """

    channel: str
    peer: Peer
    account: str = DEFAULT_ACCOUNT
    thread: str = ""
    parent: Peer | None = None
    sender: str = ""
    guild: str = ""
    team: str = ""
    roles: frozenset[str] = frozenset()
    tenant: str = DEFAULT_TENANT

    def __post_init__(self) -> None:
        if self.parent is not None and self.thread:
            raise BadInput(
                "A message is given both a thread id and a parent place.",
                hint="Give `thread` when the peer holds the thread, or `parent` when the peer is the thread.",
            )

    @property
    def holder(self) -> Peer:
        """The place itself: the one that holds the thread, if the message is in one."""
        return self.parent or self.peer

    @property
    def thread_id(self) -> str:
        """The thread's id in `holder`, or empty."""
        return self.peer.id if self.parent is not None else self.thread

    @property
    def person(self) -> str:
        """The sender's id; in a direct chat the peer is the person."""
        return self.sender or (self.holder.id if self.holder.kind is PeerKind.DM else "")
