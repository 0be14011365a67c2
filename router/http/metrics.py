"""Metrics in Prometheus' text format: what waits, what was counted, and whether the two agree.

What waits comes from indexes and is asked at each scrape. Counts by state look at every row, so they are kept for a
while; `turnline_missing` is what conservation says must be 0.
"""

from collections.abc import Iterable, Sequence

from aiohttp import web

from router.http.services import SERVICES, Services
from sessionstore.clock import Clock
from sessionstore.effect import EffectState
from sessionstore.inbox import RowStatus
from sessionstore.reads import Balance, Pressure, Reads

BALANCES_KEPT_S = 60.0
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[str, float]


class Balances:
    """Counts by state, looked up at most once in `kept_s`."""

    def __init__(self, reads: Reads, clock: Clock, kept_s: float = BALANCES_KEPT_S) -> None:
        self._reads = reads
        self._clock = clock
        self._kept_s = kept_s
        self._until = float("-inf")
        self._balances: Sequence[Balance] = ()

    async def get(self) -> Sequence[Balance]:
        """The counts, at most `kept_s` old."""
        if self._clock.monotonic() >= self._until:
            self._balances = await self._reads.balances(None)
            self._until = self._clock.monotonic() + self._kept_s
        return self._balances


BALANCES: web.AppKey[Balances] = web.AppKey("balances", Balances)


async def get_metrics(request: web.Request) -> web.Response:
    """GET /metrics"""
    services = request.app[SERVICES]
    pressure = await services.store.reads.pressure()
    balances = await request.app[BALANCES].get()
    text = "".join((*_waiting(services, pressure), *_counted(balances)))
    return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})


def _waiting(services: Services, pressure: Pressure) -> Iterable[str]:
    now = services.clock.now()
    ages = (_age(now, pressure.oldest_session_due), _age(now, pressure.oldest_effect_due))
    yield _one("ready", "gauge", "1 while the loops of this process make progress.", float(services.ready() == ""))
    yield _one("sessions_due", "gauge", "Sessions that could run and that no worker has.", pressure.sessions_due)
    yield _one("sessions_due_age_seconds", "gauge", "How long the longest of those has been due.", ages[0])
    yield _one("effects_due", "gauge", "Lanes whose first effect could be sent.", pressure.effects_due)
    yield _one("effects_due_age_seconds", "gauge", "How long the longest of those has been due.", ages[1])
    yield _one("waits_open", "gauge", "Open questions and timers.", pressure.waits_open)
    yield _one("dead_letters", "gauge", "Dead letters that nobody has redriven or dropped.", pressure.dead)
    yield _one("chat_readers", "gauge", "Open chat pages and streams of this process.", len(services.webchat.hub))


def _counted(balances: Sequence[Balance]) -> Iterable[str]:
    by_name = {balance.name: balance for balance in balances}
    accepted, intended = by_name["accepted"], by_name["intended"]
    events = _states((status.value for status in RowStatus), accepted)
    effects = _states((state.value for state in EffectState), intended)
    missing = [(f'{{of="{name}"}}', float(balance.missing)) for name, balance in by_name.items()]
    yield _one("accepted_total", "counter", "Events ever accepted.", accepted.counted)
    yield _one("intended_total", "counter", "Effects ever intended.", intended.counted)
    yield _many("events", "gauge", "Stored events by status.", events)
    yield _many("effects", "gauge", "Stored effects by state.", effects)
    yield _many("missing", "gauge", "Counted less stored: anything but 0 is a row lost or doubled.", missing)


def _states(names: Iterable[str], balance: Balance) -> list[Sample]:
    return [(f'{{state="{name}"}}', float(balance.rows.get(name, 0))) for name in names]


def _age(now: float, due: float | None) -> float:
    return 0.0 if due is None else max(0.0, now - due)


def _one(name: str, kind: str, told: str, value: float) -> str:
    return _many(name, kind, told, [("", float(value))])


def _many(name: str, kind: str, told: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP turnline_{name} {told}\n", f"# TYPE turnline_{name} {kind}\n"]
    lines += [f"turnline_{name}{labels} {value:.17g}\n" for labels, value in samples]
    return "".join(lines)
