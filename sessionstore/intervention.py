"""An intervention: what an operator does to a session, as one transaction.

It is decided outside from what was read, and holds only if the session has not moved since. It raises the fence and
takes the lease away, so that a turn under way cannot commit: nothing of that turn is left but its recorded steps. What
the session had sent stays sent; what it had not is withdrawn where the intervention says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sessionstore.commit import Entry
from sessionstore.effect import Effect, EffectState
from sessionstore.event import Event, ReplyRoute
from sessionstore.inbox import SessionRef
from sessionstore.operations import TrailLine
from sessionstore.session import Status, Totals
from sessionstore.wait import Wait


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """An effect that is not wanted any more: cancelled if it had surely not been sent, else only looked at."""

    effect_id: str
    was: EffectState
    state: EffectState


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that begins with another's past: its transcript up to `seq`, copied. Effects are not."""

    source: SessionRef
    seq: int
    agent: str


@dataclass(frozen=True, slots=True)
class Intervention:
    """One operator action on one session.

    `version` and `first_seq` are those of the head that it was decided on. `operation_id` names the action: the same
    one again is answered `AlreadyIntervened`. `withdraw` are effects that are not wanted any more. `drop_queued` is the
    reason for which everything queued is dropped, `drop_current` the one for the event whose turn is under way.
    `events` are new inbox rows. `begins` makes a new session instead of changing one.
    """

    ref: SessionRef
    version: int
    first_seq: int
    operation_id: str
    entries: tuple[Entry, ...]
    record: bytes
    record_sha256: str
    status: Status
    epoch: int
    trail: TrailLine
    run_id: str = ""
    person: str = ""
    reply_route: ReplyRoute | None = None
    effects: tuple[Effect, ...] = ()
    waits: tuple[Wait, ...] = ()
    close_waits: tuple[str, ...] = ()
    withdraw: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    drop_queued: str = ""
    drop_current: str = ""
    clear_journal: bool = False
    due_now: bool = False  # what was put off after a failure is due at once
    begins: NewSession | None = None
    totals: Totals = field(default_factory=Totals)  # of a session that begins


@dataclass(frozen=True, slots=True)
class Intervened:
    """Durable. `dropped` are the inbox rows that will not run, `withdrawn` the effects that are not wanted any more."""

    version: int
    seq: int
    withdrawn: tuple[Withdrawn, ...] = ()
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class AlreadyIntervened:
    """This very action was done before; nothing was written again."""

    operation_id: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The session has moved on since it was read, or the key of a new one is taken. Nothing was written."""

    version: int


InterventionResult = Intervened | AlreadyIntervened | Moved


class Interventions(Protocol):
    """Operator actions on whole sessions."""

    async def intervene(self, batch: Sequence[Intervention]) -> list[InterventionResult]:
        """Do them in one transaction, each whole or not at all; on return every `Intervened` is durable.

        Raises StoreError when the outcome is not known: the same action again answers what happened.
        """
        ...
