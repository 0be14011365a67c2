"""The outside world of a simulation: it does what requests ask for, badly, and keeps the books that count.

What is under way here goes on when its caller is frozen or dies: a request that has left cannot be taken back.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import copy_context
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any

from outbox.adapter import (
    Absent,
    CannotTell,
    Delivered,
    FailedThere,
    Idempotency,
    Limits,
    LookupResult,
    NotSent,
    Rejected,
    Running,
    Sending,
    SendResult,
    Succeeded,
    Unknown,
)
from turnline.testing.chronicle import Chronicle, Expected
from turnline.testing.life import Died, Life, current_life

TIMEOUT_S = 3.0
LATE_MAX_S = 0.5  # how long after its caller's timeout a request may still be done, where somebody could look for it


class Ending(StrEnum):
    """How the outside treats one request."""

    DONE = "done"
    DONE_UNTOLD = "done_untold"  # and the answer is lost
    LOST = "lost"  # neither done nor answered
    REFUSED = "refused"  # surely not done, and said so
    REJECTED = "rejected"  # the final no
    FAILED_THERE = "failed_there"  # tried and failed there, and the answer is lost
    SLOW = "slow"  # done later, perhaps after the caller's timeout
    BROKEN = "broken"  # the connection breaks after it was done, or before


WEIGHTS: Mapping[Ending, int] = {
    Ending.DONE: 60,
    Ending.DONE_UNTOLD: 8,
    Ending.LOST: 8,
    Ending.REFUSED: 8,
    Ending.REJECTED: 3,
    Ending.FAILED_THERE: 3,
    Ending.SLOW: 6,
    Ending.BROKEN: 4,
}


@dataclass(frozen=True, slots=True)
class Departure:
    """The first byte of one attempt leaves: who sends what, at which loop time, and what its outbox row says then."""

    at: float
    wall: float
    life: str
    adapter: str
    idempotency: Idempotency
    key: str
    attempt: int
    session: str
    row: Mapping[str, Any] | None
    thawed_at: float
    fact: int
    fact_moved_at: float
    looked: tuple[int, ...]  # what this process saw of the fact since this effect last left
    disturbed_at: float
    ending: Ending

    @property
    def sure(self) -> bool:
        """Whether its caller was told, truly, that nothing was done."""
        return self.ending in (Ending.REFUSED, Ending.REJECTED)


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the outside."""

    adapter: str
    idempotency: Idempotency
    key: str
    attempt: int
    session: str


class Outside:
    """Receivers, facts, and things that break until somebody mends them. `row_of` reads an outbox row by effect id."""

    def __init__(
        self,
        random: Random,
        chronicle: Chronicle,
        row_of: Callable[[str], Mapping[str, Any] | None],
        wall: Callable[[], float],
    ) -> None:
        self.healed = False
        self.departures: list[Departure] = []
        self.deeds: dict[str, list[float]] = {}
        self.facts: dict[str, int] = {}
        self.moved_at: dict[str, float] = {}
        self.failures: dict[str, int] = {}
        self.disturbed_at = -1e9  # when claims were last lost, or the clock was set
        self._random = random
        self._chronicle = chronicle
        self._row_of = row_of
        self._wall = wall
        self._under_way: dict[str, int] = {}
        self._failed: set[str] = set()
        self._looks: list[tuple[float, str, str, int]] = []
        self._left_at: dict[str, float] = {}
        self._context = copy_context()

    async def take(self, request: Request) -> SendResult:
        """One attempt, as its caller sees it. Raises Expected for a broken connection."""
        life = current_life()
        if life is not None and life.ended:
            raise Died
        row = self._row_of(request.key)
        ending = self._draw()
        if row is not None and row["binds"] and not self.healed and self._random.random() < 0.4:
            # The hardest moment for a fact to move: between an attempt that was refused and the next one.
            ending = Ending.REFUSED
            asyncio.get_running_loop().call_later(
                self._random.uniform(0.01, 0.4), self.move, request.session, context=self._context
            )
        self._depart(request, life, ending, row)
        self._chronicle.tell(f"outside.asked {request.adapter} {request.key[:8]} #{request.attempt} {ending}")
        if request.idempotency is Idempotency.NATIVE and request.key in self.deeds:
            return Delivered(request.key)
        if request.idempotency is Idempotency.NATIVE and self._under_way.get(request.key):
            return Unknown("the first request is still under way")
        return await self._treat(request, ending)

    async def find(self, request: Request) -> LookupResult:
        """What a look-up tells. Raises Expected when the look-up itself breaks."""
        await asyncio.sleep(self._random.uniform(0, 0.1))
        if not self.healed and self._random.random() < 0.2:
            if self._random.random() < 0.5:
                raise Expected("the look-up broke")
            return CannotTell("not now")
        if request.key in self.deeds:
            return Succeeded(result={}, receipt=request.key)
        if self._under_way.get(request.key):
            return Running() if self._random.random() < 0.5 else Absent()
        return FailedThere("it failed there") if request.key in self._failed else Absent()

    def fact(self, session: str) -> int:
        """A fact of the outside, about a session. Raises Expected when it cannot be looked at."""
        if not self.healed and self._random.random() < 0.05:
            raise Expected("the fact cannot be seen")
        value = self.facts.get(session, 0)
        life = current_life()
        self._looks.append((asyncio.get_running_loop().time(), session, life.name if life else "", value))
        return value

    def move(self, session: str) -> None:
        """The fact changes."""
        self.facts[session] = self.facts.get(session, 0) + 1
        self.moved_at[session] = asyncio.get_running_loop().time()
        self._chronicle.tell(f"outside.moved {session}")

    def breaks(self, thing: str, times: int) -> bool:
        """Whether this thing fails once more: so many times in all, or until healed where it is 0."""
        self.failures[thing] = self.failures.get(thing, 0) + 1
        return not self.healed if times == 0 else self.failures[thing] <= times

    def truth(self, key: str) -> str | None:
        """How an effect stands by the books: delivered, failed, or None while it may still be done."""
        if key in self.deeds:
            return "delivered"
        return None if self._under_way.get(key) else "failed"

    def _depart(self, request: Request, life: Life | None, ending: Ending, row: Mapping[str, Any] | None) -> None:
        self.departures.append(
            Departure(
                at=asyncio.get_running_loop().time(),
                wall=self._wall(),
                life=life.name if life else "",
                adapter=request.adapter,
                idempotency=request.idempotency,
                key=request.key,
                attempt=request.attempt,
                session=request.session,
                row=row,
                thawed_at=life.thawed_at if life else 0.0,
                fact=self.facts.get(request.session, 0),
                fact_moved_at=self.moved_at.get(request.session, -1.0),
                looked=self._looked_since(self._left_at.get(request.key, 0.0), request.session, life),
                disturbed_at=self.disturbed_at,
                ending=ending,
            )
        )
        self._left_at[request.key] = self.departures[-1].at

    def _looked_since(self, since: float, session: str, life: Life | None) -> tuple[int, ...]:
        name = life.name if life else ""
        return tuple(value for at, of, by, value in self._looks if at >= since and of == session and by == name)

    def _draw(self) -> Ending:
        if self.healed:
            return Ending.DONE
        return self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]

    async def _treat(self, request: Request, ending: Ending) -> SendResult:
        random = self._random
        on_the_way_s = random.uniform(0, 0.3)
        match ending:
            case Ending.DONE | Ending.DONE_UNTOLD:
                self._do_after(on_the_way_s, request)
                await asyncio.sleep(on_the_way_s + random.uniform(0, 0.3))
                return Delivered(request.key) if ending is Ending.DONE else Unknown("no answer")
            case Ending.SLOW:
                patient = request.idempotency is Idempotency.LOOKUP
                late_s = random.uniform(1, TIMEOUT_S + LATE_MAX_S if patient else 4 * TIMEOUT_S)
                self._do_after(late_s, request)
                await asyncio.sleep(late_s)
                return Delivered(request.key)
            case Ending.BROKEN:
                if random.random() < 0.5:
                    self._do_after(on_the_way_s, request)
                raise Expected("the connection broke")
            case Ending.FAILED_THERE:
                self._failed.add(request.key)
        await asyncio.sleep(on_the_way_s)
        if ending is Ending.REFUSED:
            return NotSent("refused", retry_after_s=random.choice([None, 0.5, 2.0]))
        return Rejected("no") if ending is Ending.REJECTED else Unknown("no answer")

    def _do_after(self, seconds: float, request: Request) -> None:
        self._under_way[request.key] = self._under_way.get(request.key, 0) + 1
        asyncio.get_running_loop().call_later(seconds, self._do, request, context=self._context)

    def _do(self, request: Request) -> None:
        self._under_way[request.key] -= 1
        if request.idempotency is Idempotency.NATIVE and request.key in self.deeds:
            return
        self.deeds.setdefault(request.key, []).append(asyncio.get_running_loop().time())
        self._chronicle.tell(f"outside.done {request.adapter} {request.key[:8]}")


class OutsideChannel:
    """A channel into the outside."""

    def __init__(self, outside: Outside, name: str, idempotency: Idempotency) -> None:
        self.name = name
        self._outside = outside
        self._limits = Limits(idempotency=idempotency, timeout_s=TIMEOUT_S, attempts_max=5, ttl_s=3_600.0)

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        """As it was made."""
        return self._limits

    async def send(self, sending: Sending) -> SendResult:
        """One attempt."""
        return await self._outside.take(self._request(sending))

    async def lookup(self, sending: Sending) -> LookupResult:
        """What the outside tells of it."""
        return await self._outside.find(self._request(sending))

    async def close(self) -> None:
        """Nothing to free."""

    def _request(self, sending: Sending) -> Request:
        return Request(self.name, self._limits.idempotency, sending.key, sending.attempt, sending.session)
