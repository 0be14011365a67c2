"""A mailbox: what this worker knows of one session's rows. Only a cache; the store says what runs next.

A notice about new rows may come with a gap (another process put rows too, or the bound was reached and rows were left
in the store). `previous` in each notice tells; after a gap the store is asked before anything runs, so that inbox order
is kept whoever puts the rows.
"""

from dataclasses import dataclass, field
from enum import Enum

from consumers.loaded import Loaded
from sessionstore.event import ARRIVING, Rank
from sessionstore.inbox import Accepted, InboxRow, SessionRef


class Phase(Enum):
    """Where a mailbox stands; exactly one task works on it while RUNNING."""

    IDLE = "idle"  # nothing to do here
    READY = "ready"  # in the ready queue
    RUNNING = "running"
    HOLDING = "holding"  # nothing to run, the lease kept for a moment


@dataclass(slots=True)
class Mailbox:
    """One session in this worker. `tail` is the newest position that this worker has seen of it."""

    ref: SessionRef
    phase: Phase = Phase.IDLE
    rows: dict[int, InboxRow] = field(default_factory=dict)
    size: int = 0
    tail: int = 0
    gap: bool = True
    loaded: Loaded | None = None
    idle_since: float = 0.0
    lost: bool = False
    next_pos: int = 0  # what the last commit said comes next

    def offer(self, accepted: Accepted, rows_max: int, bytes_max: int) -> int:
        """Remember the row if there is room; returns the bytes that were added."""
        row = accepted.row
        if accepted.previous != self.tail:
            self.gap = True
        self.tail = max(self.tail, row.pos)
        if len(self.rows) >= rows_max or self.size + row.size > bytes_max:
            self.gap = True
            return 0
        return self.keep(row)

    def keep(self, row: InboxRow) -> int:
        """Remember a row read from the store; returns the bytes that were added."""
        if row.pos in self.rows:
            return 0
        self.rows[row.pos] = row
        self.size += row.size
        return row.size

    def take(self, pos: int) -> InboxRow | None:
        """Hand a row out, if it is known here."""
        row = self.rows.pop(pos, None)
        if row is not None:
            self.size -= row.size
        return row

    def taken(self, next_pos: int, tail: int) -> int:
        """The lease was taken: of the rows up to `tail` only `next_pos` is surely still to run, since another worker
        may have had the session meanwhile. What else is there is read again. Returns the bytes that were freed."""
        before = self.size
        kept = [row for row in self.rows.values() if row.pos == next_pos or row.pos > tail]
        self.gap = self.gap or len(kept) < len(self.rows)
        self.rows = {row.pos: row for row in kept}
        self.size = sum(row.size for row in kept)
        return before - self.size

    def forget(self) -> int:
        """Drop all that is cached; returns the bytes that were freed."""
        freed, self.size = self.size, 0
        self.rows.clear()
        self.loaded = None
        self.gap = True
        return freed

    def first_known(self, run_open: bool, now: float, *, person: bool = False) -> InboxRow | None:
        """The first row in order that may run now, of those known here.

        `person`: somebody answers in the agent's place, and only what comes in is recorded.
        """
        if not self.rows:
            return None
        able = [r for r in self.rows.values() if not (run_open and r.event.rank == Rank.REST)]
        if person:
            able = [r for r in able if r.event.kind in ARRIVING]
        first = min(able, key=lambda r: (r.event.rank, r.pos), default=None)
        return first if first is not None and first.due <= now else None
