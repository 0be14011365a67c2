"""The reconciler: looks at effects whose end is unknown, has the coordinator decide, and writes the decision down."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, assert_never

import structlog

from consumers.recovery import Action, Facts, Found, Policy, Verdict, decide_effect
from consumers.steadiness import Steadiness
from outbox.adapter import (
    Absent,
    CannotTell,
    Changed,
    EffectAdapter,
    FailedThere,
    Idempotency,
    Limits,
    LookupResult,
    Running,
    Succeeded,
)
from outbox.relay import FactCheck, no_facts, sending_for
from outbox.retry import expires_at
from sessionstore.clock import Clock
from sessionstore.effect import Claimed, EffectState, Settlement
from sessionstore.notice import Notice
from sessionstore.outboxqueue import OutboxQueue

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ReconcilerSettings:
    """Limits of the reconciler's loop."""

    batch_max: int = 64
    claim_ttl_s: float = 60.0
    lookup_timeout_s: float = 20.0
    poll_s: float = 1.0
    look_again_s: float = 5.0
    look_again_max_s: float = 300.0
    looks_max: int = 100
    settle_s: float | None = None  # None: each adapter's call timeout plus the relay's claim time
    relay_claim_ttl_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Look:
    """What looking at an effect showed."""

    found: Found
    result: Any = None
    receipt: str = ""
    facts: Mapping[str, Any] | None = None
    reason: str = ""


class Reconciler:
    """One loop over unknown effects; any number may run."""

    def __init__(
        self,
        queue: OutboxQueue,
        adapters: Mapping[str, EffectAdapter],
        clock: Clock,
        random: Random,
        *,
        check: FactCheck = no_facts,
        settings: ReconcilerSettings | None = None,
    ) -> None:
        self._queue = queue
        self._adapters = adapters
        self._clock = clock
        self._random = random
        self._check = check
        self._settings = settings or ReconcilerSettings()
        self._steadiness = Steadiness(clock)
        self._wake = asyncio.Event()
        self._stopping = False

    def notice(self, notice: Notice) -> None:
        """Listener for the store."""
        if notice.unknown:
            self._wake.set()

    def stop(self) -> None:
        """Finish what is being looked at, then return from `run`."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Reconcile until stopped."""
        while not self._stopping:
            self._wake.clear()
            try:
                await self.look()
            except Exception:
                log.exception("reconciler.failed")
            try:
                async with asyncio.timeout(self._settings.poll_s):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def look(self) -> int:
        """Look once at everything that is due; returns how many."""
        names = self._adapters.keys()
        claims = await self._queue.claim_unknown(names, self._settings.batch_max, self._settings.claim_ttl_s)
        await asyncio.gather(*(self._reconcile(claim) for claim in claims))
        return len(claims)

    async def _reconcile(self, claim: Claimed) -> None:
        """One effect, on its own: what goes wrong with it holds up no other."""
        try:
            settlement = await self._decide(claim)
        except Exception as error:
            log.exception("effect.decision_failed", effect=claim.effect.effect_id, session=claim.session)
            settlement = self._undecided(claim, f"it could not be looked at: {type(error).__name__}: {error}")
        await self._queue.settle([settlement])

    async def _decide(self, claim: Claimed) -> Settlement:
        limits = self._adapters[claim.effect.adapter].limits_for(claim.effect.target)
        look = await self._look(claim, limits)
        facts = await self._facts(claim, look)
        now = self._clock.now()
        sent_at = claim.sent_at or claim.created_at
        # The other side counts from the first time that it saw the key; of several sends only the last one's is known.
        key_age_s = now - (sent_at if claim.attempts <= 1 else claim.created_at)
        age_s = now - sent_at
        settle_s = self._settings.settle_s
        if settle_s is None:
            settle_s = limits.timeout_s + self._settings.relay_claim_ttl_s
        # A clock that was set forward meanwhile would have it settled while it is still on its way.
        settled = age_s > settle_s and self._steadiness.steady_s() >= settle_s
        native, policy = limits.idempotency is Idempotency.NATIVE, Policy(claim.effect.on_unknown)
        # Sent again so late, the relay would only find that it has expired, and hand it back here.
        expired = now >= expires_at(claim.created_at, limits, claim.effect.expires_at)
        in_window = limits.window_s <= 0 or key_age_s < limits.window_s
        in_budget = claim.checks < self._settings.looks_max and claim.attempts < limits.attempts_max
        verdict = decide_effect(
            limits.idempotency,
            look.found,
            Facts.MOVED if facts else Facts.HOLD,
            wanted=not claim.unwanted,
            started=bool(claim.external_id),
            in_window=in_window and not (native and expired),
            settled=settled,
            budget_left=in_budget and not (policy is Policy.RESEND and expired),
            policy=policy,
        )
        log.info(
            "effect.decided",
            effect=claim.effect.effect_id,
            session=claim.session,
            found=look.found.value,
            action=verdict.action.value,
            reason=verdict.reason,
        )
        return self._settlement(claim, look, verdict, facts)

    async def _look(self, claim: Claimed, limits: Limits) -> Look:
        if limits.idempotency is not Idempotency.LOOKUP:
            return Look(Found.NOT_LOOKED)
        adapter = self._adapters[claim.effect.adapter]
        try:
            async with asyncio.timeout(self._settings.lookup_timeout_s):
                return look_from(await adapter.lookup(sending_for(claim, claim.attempts, _no_start)))
        except Exception as error:
            log.warning("effect.lookup_failed", effect=claim.effect.effect_id, error=f"{type(error).__name__}: {error}")
            return Look(Found.CANNOT_TELL)

    async def _facts(self, claim: Claimed, look: Look) -> Mapping[str, Any]:
        """The facts that have moved; empty when all hold. What cannot be looked at does not hold up a recording."""
        if look.found is Found.CHANGED:
            return look.facts or {}
        if not claim.effect.binds or look.found in (Found.SUCCEEDED, Found.FAILED, Found.RUNNING):
            return {}
        async with asyncio.timeout(self._settings.lookup_timeout_s):
            moved = await self._check(claim)
        return moved.facts if moved is not None else {}

    def _settlement(self, claim: Claimed, look: Look, verdict: Verdict, facts: Mapping[str, Any]) -> Settlement:
        now = self._clock.now()
        reason = verdict.reason
        match verdict.action:
            case Action.RECORD:
                return Settlement(claim, EffectState.DELIVERED, receipt=look.receipt, result=look.result)
            case Action.FAIL:
                unclear = look.found is not Found.FAILED
                return Settlement(claim, EffectState.FAILED, error=look.reason or reason, unclear=unclear)
            case Action.CANCEL:
                return Settlement(claim, EffectState.CANCELLED, error=reason)
            case Action.WAIT:
                due = now + self._again_s(claim.checks)
                return Settlement(claim, EffectState.UNKNOWN, due=due, error=reason)
            case Action.RESEND:
                twice = verdict.possible_duplicate
                unclear = twice or look.found is not Found.ABSENT
                return Settlement(
                    claim, EffectState.RETRY, due=0.0, error=reason, possible_duplicate=twice, unclear=unclear
                )
            case Action.VOID:
                return Settlement(claim, EffectState.CANCELLED, error=reason, outcome="void", facts=facts)
            case Action.ASK:
                return Settlement(claim, EffectState.UNKNOWN, error=reason, asked=True)
            case _:
                assert_never(verdict.action)

    def _undecided(self, claim: Claimed, reason: str) -> Settlement:
        if claim.checks >= self._settings.looks_max:
            return Settlement(claim, EffectState.UNKNOWN, error=reason, asked=True)
        due = self._clock.now() + self._again_s(claim.checks)
        return Settlement(claim, EffectState.UNKNOWN, due=due, error=reason)

    def _again_s(self, checks: int) -> float:
        wait_s = min(self._settings.look_again_s * 1.5 ** min(checks, 50), self._settings.look_again_max_s)
        return wait_s * self._random.uniform(0.8, 1.2)


def look_from(result: LookupResult) -> Look:
    """A look-up's result, reduced to what the coordinator decides on."""
    match result:
        case Absent():
            return Look(Found.ABSENT)
        case Running():
            return Look(Found.RUNNING)
        case Succeeded(result=value, receipt=receipt):
            return Look(Found.SUCCEEDED, value, receipt)
        case FailedThere(reason=reason):
            return Look(Found.FAILED, reason=reason)
        case Changed(facts=facts):
            return Look(Found.CHANGED, facts=facts)
        case CannotTell():
            return Look(Found.CANNOT_TELL)
        case _:
            assert_never(result)


async def _no_start(external_id: str) -> None:
    return None
