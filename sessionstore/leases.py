"""Row leases: two owners are rare by the lease, and harmless by the fence that each commit checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sessionstore.inbox import SessionRef
from sessionstore.session import Head


@dataclass(frozen=True, slots=True)
class Lease:
    """Right to commit for a session until `until` (unix seconds by the store's clock)."""

    ref: SessionRef
    nonce: str
    fence: int
    until: float


@dataclass(frozen=True, slots=True)
class Receipt:
    """An effect that ended and that the transcript does not tell of yet."""

    pos: int
    effect_id: str
    state: str
    receipt: str
    error: str


@dataclass(frozen=True, slots=True)
class Journal:
    """A turn that began and did not close: its pinned id and members, and the recorded steps by key."""

    turn_id: str
    members: tuple[int, ...]
    agent_version: str
    steps: dict[str, "StepRecord"]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step's recorded result; `args_hash` tells whether newer code asks the same question."""

    key: str
    args_hash: str
    result: Any


@dataclass(frozen=True, slots=True)
class Held:
    """The lease is ours, with all that is needed to run. `took_over`: its owner before us is dead or was late."""

    lease: Lease
    head: Head
    record: bytes
    next_pos: int
    next_due: float | None
    receipts: tuple[Receipt, ...]
    journal: Journal | None
    took_over: bool


@dataclass(frozen=True, slots=True)
class Busy:
    """Another owner's lease is live until then."""

    ref: SessionRef
    until: float


@dataclass(frozen=True, slots=True)
class Gone:
    """No such session."""

    ref: SessionRef


AcquireResult = Held | Busy | Gone


class RowLeases(Protocol):
    """Leases as columns of the session's row."""

    async def acquire(self, refs: Sequence[SessionRef], owner: str, ttl_s: float) -> list[AcquireResult]:
        """Take free or run-out leases: fence plus one, a fresh nonce, and the session's load in one step."""
        ...

    async def renew(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """Lengthen; False where the nonce no longer holds or the lease already ran out."""
        ...

    async def release(self, leases: Sequence[Lease]) -> None:
        """Give back what is still ours. Durable when it returns."""
        ...

    async def attempt(self, lease: Lease, pos: int, *, due: float | None = None, error: str = "") -> int:
        """Count a start, or a failure, of row `pos`, durably; returns the count without progress. Raises FenceLost.

        `error` is kept until the session commits, so that anyone can see why it stands where it stands. With `due` the
        row is put off until then (unix seconds), and the session's later rows wait behind it.
        """
        ...
