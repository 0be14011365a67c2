"""What a transaction changed, told in this process after it committed. A hint for speed: polling finds the same."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sessionstore.inbox import Accepted, SessionRef


@dataclass(slots=True)
class Notice:
    """New inbox rows in order, whether the outbox has something new to send, sessions whose story grew,
    sessions to look at, and sessions whose owner has been set aside."""

    rows: list[Accepted] = field(default_factory=list)
    outbox: bool = False
    unknown: bool = False
    waits: bool = False
    touched: set[SessionRef] = field(default_factory=set)
    woken: set[SessionRef] = field(default_factory=set)
    revoked: set[SessionRef] = field(default_factory=set)


Listener = Callable[[Notice], None]
