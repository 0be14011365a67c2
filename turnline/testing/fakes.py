"""Fake channels: they remember what arrived, and fail as real ones do."""

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from outbox.adapter import (
    Absent,
    Delivered,
    Idempotency,
    Limits,
    LookupResult,
    NotSent,
    Rejected,
    Sending,
    SendResult,
    Succeeded,
    Unknown,
)


class Fault(StrEnum):
    """What a fake does with one arrival."""

    NONE = "none"
    DONE_BUT_UNKNOWN = "done_but_unknown"  # it was done, and the answer was lost
    NOT_DONE_BUT_UNKNOWN = "not_done_but_unknown"
    NOT_SENT = "not_sent"
    REJECTED = "rejected"


class FakeChannel:
    """A channel of any class. `arrivals` are all sends that reached it, `done` what it did, by key, once each.

    `faults` says what happens to the n-th arrival (from 0). `delay_s` is how long each takes.
    """

    def __init__(
        self,
        name: str = "fake",
        *,
        idempotency: Idempotency = Idempotency.NATIVE,
        faults: Mapping[int, Fault] | None = None,
        delay_s: float = 0.0,
        timeout_s: float = 5.0,
    ) -> None:
        self.name = name
        self.arrivals: list[Sending] = []
        self.done: dict[str, Mapping[str, Any]] = {}
        self._limits = Limits(idempotency=idempotency, timeout_s=timeout_s)
        self._faults = dict(faults or {})
        self._delay_s = delay_s

    @property
    def texts(self) -> list[str]:
        """What was said, once for each key, in order."""
        return [str(body.get("text", "")) for body in self.done.values()]

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        """As it was made."""
        return self._limits

    async def send(self, sending: Sending) -> SendResult:
        """Remember it, and do it unless its key was done before or a fault says otherwise."""
        fault = self._faults.get(len(self.arrivals), Fault.NONE)
        self.arrivals.append(sending)
        await asyncio.sleep(self._delay_s)
        if fault is Fault.NOT_SENT:
            return NotSent("refused")
        if fault is Fault.REJECTED:
            return Rejected("no")
        if fault is Fault.NOT_DONE_BUT_UNKNOWN:
            return Unknown("no answer")
        self.done.setdefault(sending.key, dict(sending.body))
        return Unknown("no answer") if fault is Fault.DONE_BUT_UNKNOWN else Delivered(sending.key)

    async def lookup(self, sending: Sending) -> LookupResult:
        """Whether the key was done."""
        return Succeeded(receipt=sending.key) if sending.key in self.done else Absent()

    async def close(self) -> None:
        """Nothing to free."""
