"""The contract of everything that carries an effect out: one send, four possible ends.

A timeout is not a failure. An adapter says `NotSent` only when it can prove that nothing was done (refused connect,
DNS, TLS, 4xx, 429), `Rejected` when the other side gave a final no, `Unknown` when bytes may have arrived.
Rejected: exceptions for outcomes. A forgotten `except` would turn "unknown" into "failed", and failed is retried.
No adapter retries on its own: the relay owns attempts.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class Idempotency(StrEnum):
    """What makes a repeated send recognisable at the other side."""

    NATIVE = "native"  # the same key is done once
    LOOKUP = "lookup"  # it can be asked whether it was done
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Limits:
    """An adapter's promises, as data. Sizes are in `unit`s; windows in seconds (0: no window)."""

    idempotency: Idempotency = Idempotency.NONE
    window_s: float = 0.0  # how long the other side remembers a key (NATIVE) or can be asked (LOOKUP); 0: for ever
    length_max: int = 65_536
    unit: str = "codepoint"  # codepoint | utf16 | byte
    timeout_s: float = 30.0
    attempts_max: int = 8
    ttl_s: float = 86_400.0  # older than this and not sent: expired
    can_edit: bool = False


@dataclass(frozen=True, slots=True)
class Delivered:
    """Done, with the other side's word for it. `receipt` ids it there; `result` is what a continuation gets."""

    receipt: str
    result: Any = None


@dataclass(frozen=True, slots=True)
class NotSent:
    """Proven not done. `permanent` means that trying again cannot help."""

    reason: str
    retry_after_s: float | None = None
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    """The other side's final no."""

    reason: str
    result: Any = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Bytes may have arrived and no answer tells."""

    reason: str


SendResult = Delivered | NotSent | Rejected | Unknown


@dataclass(frozen=True, slots=True)
class Absent:
    """Looked up: it was never done."""


@dataclass(frozen=True, slots=True)
class Running:
    """Looked up: it is under way there."""

    external_id: str = ""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """Looked up: it was done."""

    result: Any = None
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class FailedThere:
    """Looked up: it was tried there and failed."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """Looked up: the world moved; these are the facts now."""

    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The look-up itself failed; nothing follows from it."""

    reason: str = ""


LookupResult = Absent | Running | Succeeded | FailedThere | Changed | CannotTell


@dataclass(frozen=True, slots=True)
class Sending:
    """One attempt, as an adapter sees it.

    `key` is the idempotency key: the same for every attempt of one effect, for life. `target` is the address (for a
    channel the reply route as a mapping, for an HTTP effect the URL and so on). `deadline` is on the relay's monotonic
    clock; an adapter that is slower than its limits' `timeout_s` is cut off and the outcome is unknown.
    """

    key: str
    session: str
    tenant: str
    attempt: int
    target: Mapping[str, Any]
    body: Mapping[str, Any]
    created_at: float
    started: Callable[[str], Awaitable[None]]
    external_id: str = ""


class EffectAdapter(Protocol):
    """Carries one kind of effect out."""

    name: str

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        """The promises for one address; they may differ from one endpoint or tool to the next."""
        ...

    async def send(self, sending: Sending) -> SendResult:
        """Do it once. Never raises for an outcome; an exception counts as `Unknown`."""
        ...

    async def lookup(self, sending: Sending) -> LookupResult:
        """Ask whether it was done. Only called when the limits' idempotency is LOOKUP."""
        ...

    async def close(self) -> None:
        """Free connections. Called once, at an orderly stop."""
        ...
