"""What a continuation is given: how a question, an effect or a timer ended."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decision:
    """A question's end: `status` is approved, rejected, answered (a free answer), expired or void.

    Void means that a fact which the approval was bound to has changed; `facts` are the values now.
    """

    status: str
    answer: Any = None
    by: str = ""
    note: str = ""
    question: str = ""
    wait_id: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None

    @property
    def approved(self) -> bool:
        """Somebody with the right to do so said yes, and what it was bound to still holds."""
        return self.status == "approved"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """An effect's end: `status` is delivered, failed, expired, cancelled or void; `result` is there when delivered."""

    status: str
    result: T | None = None
    error: str = ""
    receipt: str = ""
    external_id: str = ""
    effect_id: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """It was done, and the other side said so."""
        return self.status == "delivered"


@dataclass(frozen=True, slots=True)
class Fired:
    """A timer's end. `data` is what was given to `turn.schedule`."""

    wait_id: str
    data: Any = None
