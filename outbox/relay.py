"""The relay: claims lane heads, marks them `sending`, carries them out, and settles what came of it.

Any number of relays may run. What guards a row is its claim: a nonce that every later write about the row must show.
The order is fixed: claim and durable mark first, then the facts are looked at, then the first byte. A relay that dies
after the mark leaves a row whose claim runs out, and such a row becomes `unknown`: it is never sent again by itself.
What remains is the pause between the last look at the clock and the first byte; that is what idempotency keys and
look-ups are for.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any, Protocol, assert_never

import structlog

from outbox.adapter import EffectAdapter, Idempotency, Sending, SendResult, Unknown
from outbox.retry import (
    DEFAULT_BACKOFF,
    Backoff,
    MarkUnknown,
    RetryAt,
    Settle,
    after_attempt,
    before_attempt,
    expires_at,
    not_said_undone,
)
from sessionstore.batcher import Batcher
from sessionstore.clock import Clock
from sessionstore.commit import HandOver
from sessionstore.deadlines import Deadlines
from sessionstore.effect import Claimed, Effect, EffectState, Settlement
from sessionstore.notice import Notice
from sessionstore.outboxqueue import OutboxQueue

log = structlog.get_logger(__name__)

NONCE_BYTES = 16


@dataclass(frozen=True, slots=True)
class RelaySettings:
    """Limits of the relay's loop."""

    sends_max: int = 256
    claim_ttl_s: float = 30.0
    claim_margin_s: float = 2.0  # no first byte when less than this is left of a claim
    check_timeout_s: float = 20.0  # for looking at the facts of one effect
    poll_s: float = 0.25
    settle_batch_max: int = 256
    drain_s: float = 10.0
    backoff: Backoff = DEFAULT_BACKOFF


@dataclass(frozen=True, slots=True)
class Moved:
    """Facts that an effect was bound to and that are different now."""

    facts: Mapping[str, Any] = field(default_factory=dict)


class FactCheck(Protocol):
    """Looks again at the facts that an effect is bound to."""

    async def __call__(self, claim: Claimed) -> Moved | None:
        """None when all still hold. Raises when it could not look: then nothing is sent, and it is tried later."""
        ...


async def no_facts(claim: Claimed) -> Moved | None:
    """For relays without an app: nothing is ever bound."""
    return None


class Relay:
    """One relay loop; `run` returns after `stop`, when what was under way has ended or the drain time is over."""

    def __init__(
        self,
        queue: OutboxQueue,
        adapters: Mapping[str, EffectAdapter],
        clock: Clock,
        random: Random,
        *,
        check: FactCheck = no_facts,
        settings: RelaySettings | None = None,
    ) -> None:
        self._queue = queue
        self._adapters = adapters
        self._clock = clock
        self._random = random
        self._check = check
        self._settings = settings or RelaySettings()
        self._settle: Batcher[Settlement, bool] = Batcher(queue.settle, batch_max=self._settings.settle_batch_max)
        self._mark: Batcher[Claimed, bool] = Batcher(queue.mark)
        self._wake = asyncio.Event()
        self._deadlines = Deadlines()
        self._stopping = False
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._claims: dict[int, Claimed] = {}
        self.progress_at = clock.monotonic()
        self._nonce = secrets.token_hex(NONCE_BYTES)

    def hand_over(self, effects: Sequence[Effect]) -> HandOver | None:
        """Which of these a worker in this process may claim for this relay in its commit; None for none."""
        room = self._settings.sends_max - len(self._tasks)
        if self._stopping or room < len(effects):
            return None
        native = [e.effect_id for e in effects if self._is_native(e)]
        return HandOver(frozenset(native), self._nonce, self._settings.claim_ttl_s) if native else None

    def _is_native(self, effect: Effect) -> bool:
        adapter = self._adapters.get(effect.adapter)
        return adapter is not None and adapter.limits_for(effect.target).idempotency is Idempotency.NATIVE

    def take(self, claims: Iterable[Claimed]) -> None:
        """Carry out effects that a commit has claimed for this relay."""
        for claim in claims:
            # The claim began with the commit, not with its return; the wall clock may have been set meanwhile.
            left_s = min(claim.until - self._clock.now(), self._settings.claim_ttl_s)
            self._start(claim, self._clock.monotonic() + left_s - self._settings.claim_margin_s)

    def notice(self, notice: Notice) -> None:
        """Listener for the store: something new may be there to send."""
        if notice.outbox:
            self._wake.set()

    def stop(self) -> None:
        """Take no more; `run` returns when what is under way has ended."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Carry out effects until stopped."""
        renewer = asyncio.create_task(self._renew())
        try:
            while not self._stopping:
                self._wake.clear()
                if await self._take():
                    continue
                await _wait(self._wake, self._settings.poll_s * self._random.uniform(0.8, 1.2))
            await self._drain()
        finally:
            renewer.cancel()
            await asyncio.gather(renewer, return_exceptions=True)

    async def _take(self) -> bool:
        """Claim what there is room for; True when it is worth looking again at once."""
        room = self._settings.sends_max - len(self._tasks)
        if room <= 0:
            return False
        # Counted from before the request: the claim may have begun long before the answer came.
        deadline = self._clock.monotonic() + self._settings.claim_ttl_s - self._settings.claim_margin_s
        try:
            claims = await self._queue.claim(self._adapters.keys(), room, self._settings.claim_ttl_s)
        except Exception:
            log.exception("outbox.claim_failed")
            return False
        self.progress_at = self._clock.monotonic()
        for claim in claims:
            self._start(claim, deadline)
        return len(claims) == room

    def _start(self, claim: Claimed, deadline: float) -> None:
        task = asyncio.create_task(self._carry(claim, deadline))
        self._tasks[claim.pos] = task
        self._claims[claim.pos] = claim
        task.add_done_callback(partial(self._ended, claim))

    def _ended(self, claim: Claimed, task: asyncio.Task[None]) -> None:
        # A row whose claim was lost may be under way here again, in another task.
        if self._tasks.get(claim.pos) is task:
            del self._tasks[claim.pos]
        self._forget(claim)
        if len(self._tasks) < self._settings.sends_max:
            self._wake.set()

    def _forget(self, claim: Claimed) -> None:
        if self._claims.get(claim.pos) is claim:
            del self._claims[claim.pos]

    async def _carry(self, claim: Claimed, deadline: float) -> None:
        try:
            settlement = await self._attempt(claim, deadline)
        except Exception as error:
            # Nothing was sent: every error of the send itself is a result. The claim runs out and it is tried again.
            log.exception("outbox.attempt_failed", effect=claim.effect.effect_id, session=claim.session)
            settlement = self._later(claim, f"{type(error).__name__}: {error}")
        # From here on the call is over: there is no claim to renew, and losing it is told by the settlement.
        self._forget(claim)
        if settlement is None:
            return
        try:
            ours = await self._settle.submit(settlement)
        except Exception:
            log.exception("outbox.settle_failed", effect=claim.effect.effect_id, session=claim.session)
            return
        tell = log.debug if settlement.state is EffectState.DELIVERED else log.info
        tell(
            "effect.settled" if ours else "effect.claim_lost",
            effect=claim.effect.effect_id,
            session=claim.session,
            state=settlement.state.value,
            error=settlement.error or None,
        )

    async def _attempt(self, claim: Claimed, deadline: float) -> Settlement | None:
        adapter = self._adapters[claim.effect.adapter]
        limits = adapter.limits_for(claim.effect.target)
        now = self._clock.now()
        expires = expires_at(claim.created_at, limits, claim.effect.expires_at)
        too_old = before_attempt(expires, now, unclear=claim.unclear)
        if too_old is not None:
            return _settlement(claim, too_old)
        if claim.effect.binds:
            async with self._deadlines.within(self._settings.check_timeout_s):
                moved = await self._check(claim)
            if moved is not None and claim.unclear:
                return _settlement(
                    claim, MarkUnknown("what it was approved for has changed, and it may have been done")
                )
            if moved is not None:
                return Settlement(
                    claim,
                    EffectState.CANCELLED,
                    error="what it was approved for has changed",
                    outcome="void",
                    facts=moved.facts,
                )
        attempts = claim.attempts
        if claim.state is not EffectState.SENDING:
            if not await self._mark.submit(claim):
                return None
            attempts += 1
        if self._clock.monotonic() >= deadline:
            return self._later(claim, "the claim was nearly over before it could be sent")
        result = await self._send(adapter, claim, attempts, limits.timeout_s)
        step = after_attempt(result, attempts, limits, expires, self._clock.now(), self._random, self._settings.backoff)
        return _settlement(claim, not_said_undone(step, result, limits) if claim.unclear else step)

    async def _send(self, adapter: EffectAdapter, claim: Claimed, attempt: int, timeout_s: float) -> SendResult:
        sending = sending_for(claim, attempt, self._started(claim))
        try:
            async with self._deadlines.within(timeout_s):
                return await adapter.send(sending)
        except TimeoutError:
            return Unknown(f"no answer within {timeout_s:g} s")
        except Exception as error:
            return Unknown(f"{type(error).__name__}: {error}")

    def _started(self, claim: Claimed) -> Callable[[str], Awaitable[None]]:
        async def started(external_id: str) -> None:
            await self._queue.started(claim, external_id)

        return started

    def _later(self, claim: Claimed, reason: str) -> Settlement:
        due = self._clock.now() + self._settings.backoff.first_s
        return Settlement(claim, EffectState.RETRY, due=due, error=reason)

    async def _renew(self) -> None:
        """Lengthen the claims of calls that still run."""
        while True:
            await asyncio.sleep(self._settings.claim_ttl_s / 3)
            claims = list(self._claims.values())
            if not claims:
                continue
            try:
                kept = await self._queue.renew(claims, self._settings.claim_ttl_s)
            except Exception:
                log.exception("outbox.renew_failed")
                continue
            for claim, held in zip(claims, kept, strict=True):
                task = self._tasks.get(claim.pos)
                if not held and task is not None:
                    log.warning("effect.claim_lost", effect=claim.effect.effect_id, session=claim.session)
                    task.cancel()

    async def _drain(self) -> None:
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._settings.drain_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._settle.drain()


def sending_for(claim: Claimed, attempt: int, started: Callable[[str], Awaitable[None]]) -> Sending:
    """An attempt as its adapter sees it."""
    return Sending(
        key=claim.effect.effect_id,
        session=claim.session,
        tenant=claim.tenant,
        attempt=attempt,
        target=claim.effect.target,
        body=claim.effect.body,
        created_at=claim.created_at,
        started=started,
        external_id=claim.external_id,
    )


def _settlement(claim: Claimed, step: Settle | RetryAt | MarkUnknown) -> Settlement:
    match step:
        case Settle(state=state, reason=reason, receipt=receipt, result=result):
            return Settlement(claim, state, receipt=receipt, result=result, error=reason)
        case RetryAt(due=due, reason=reason):
            return Settlement(claim, EffectState.RETRY, due=due, error=reason)
        case MarkUnknown(reason=reason):
            return Settlement(claim, EffectState.UNKNOWN, due=0.0, error=reason)
        case _:
            assert_never(step)


async def _wait(event: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return
