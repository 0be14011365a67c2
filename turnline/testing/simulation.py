"""A whole system's life from one seed: two engines over one file, an outside that fails, all that can go wrong.

    course = simulate(seed=7, folder=tmp_path / "life")

Real are the scheduler, relay, reconciler, timekeeper and cron loop of both engines, and the SQLite store that they
share; simulated are time, processes, people and the outside. In the first part of a life processes crash at any
transaction, freeze for longer than their leases, are stopped and replaced; leases and claims are lost, the clock is
set, requests are done without an answer or answered without being done. Then all heals, people answer and mark what
is left, and everything must come to rest; then the checks look at what is stored.

The same seed takes the same course: no wall clock, no threads, no set's order. `Course.digest` is over all of it.
"""

import asyncio
import gc
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from consumers.agent import App
from consumers.reconciler import ReconcilerSettings
from consumers.scheduler import SchedulerSettings
from outbox.adapter import EffectAdapter, Idempotency
from outbox.relay import RelaySettings
from outbox.retry import Backoff
from sessionstore.audit import audit
from sessionstore.notice import Listener
from sessionstore.sqlite.store import SqliteStore
from sessionstore.verify import verify_all
from turnline.engine import EngineSettings
from turnline.testing.cast import make_cast
from turnline.testing.chaos import Chaos
from turnline.testing.checks import findings
from turnline.testing.chronicle import Chronicle
from turnline.testing.evidence import Ledger, gather
from turnline.testing.inline import Fuse, InlineDatabase
from turnline.testing.life import Died
from turnline.testing.outside import Outside, OutsideChannel
from turnline.testing.people import People
from turnline.testing.seat import Making, Seat, Seats
from turnline.testing.virtualtime import VirtualClock, run_virtually
from turnline.testing.witness import Witness

LIFE_S = 40.0
REST_S = 300.0
LOOK_S = 0.5
ROUNDS_MAX = 60
FINDINGS_SHOWN_MAX = 12
LINES_SHOWN_MAX = 40

CHANNELS = {"chat": Idempotency.NATIVE, "mail": Idempotency.LOOKUP, "fax": Idempotency.NONE}

MOVING = (
    ("queued rows", "SELECT pos, tenant, session, kind, due FROM inbox WHERE status = 'queued'"),
    ("moving effects", "SELECT effect_id, state, due FROM outbox WHERE state IN ('pending', 'sending', 'retry')"),
    ("effects to look at", "SELECT effect_id, due FROM outbox WHERE state = 'unknown' AND due IS NOT NULL"),
    ("open timers", "SELECT wait_id, due FROM wait WHERE status = 'open' AND kind = 'timer'"),
)
LIVE_LEASES = "SELECT session, owner_name FROM session WHERE owner IS NOT NULL AND lease_until >= ?"


@dataclass(frozen=True, slots=True)
class Course:
    """How a life went. `digest` is the same for the same seed; `lines` tell the whole story."""

    seed: int
    digest: str
    lines: tuple[str, ...]
    seconds: float
    events: int
    turns: int
    sends: int
    deaths: int
    freezes: int
    jumps: int


class Broken(AssertionError):
    """Something did not hold. The message says what, and how to live this life again; `lines` tell its story."""

    def __init__(self, message: str, lines: tuple[str, ...]) -> None:
        super().__init__(message)
        self.lines = lines


def simulate(seed: int, folder: Path, *, life_s: float = LIFE_S) -> Course:
    """Live the life of this seed in `folder`, which is removed afterwards, and check it. Raises Broken."""
    folder.mkdir(parents=True)
    collecting = gc.isenabled()
    gc.disable()  # when a collection comes is not in the seed
    try:
        return run_virtually(Simulation(seed, folder, life_s).run())
    finally:
        if collecting:
            gc.enable()
        shutil.rmtree(folder, ignore_errors=True)


class Simulation:
    """One life."""

    def __init__(self, seed: int, folder: Path, life_s: float) -> None:
        self._seed = seed
        self._life_s = life_s
        self._file = folder / "world.sqlite"
        self._clock = VirtualClock()
        self._chronicle = Chronicle()
        self._ledger = Ledger()
        SqliteStore(self._file, self._clock, make_database=self._plain_database)
        self._witness = Witness(self._file)
        chronicle, witness = self._chronicle, self._witness
        self._outside = Outside(self._chance("outside"), chronicle, witness.effect, self._clock.now)
        making = Making(self._file, self._clock, self._make_app, self._make_channels, _settings)
        self._seats = Seats(
            [Seat(name, making, self._chance(name), chronicle) for name in "ab"], self._chance("callers")
        )
        self._people = People(
            self._seats, self._chance("people"), chronicle, self._ledger, self._outside, witness, list(CHANNELS)
        )
        sessions = [key.text for key in self._people.sessions]
        self._chaos = Chaos(
            self._seats, self._chance("chaos"), chronicle, self._outside, witness, self._clock, sessions
        )

    async def run(self) -> Course:
        """From its beginning to its checks. Raises Broken."""
        asyncio.get_running_loop().set_exception_handler(self._unhandled)
        with self._chronicle.listening():
            try:
                await self._live()
                await self._come_to_rest()
                await self._seats.stop()
                found = await self._findings()
            except AssertionError as error:
                found = [str(error)]
            finally:
                await self._seats.kill()
        course = self._course()
        self._witness.close()
        found = [*self._chronicle.surprises, *found]
        if found:
            raise _broken(course, found)
        return course

    async def _live(self) -> None:
        self._seats.start()
        await asyncio.gather(
            self._people.send_all(self._life_s), self._people.meddle(self._life_s), self._chaos.reign(self._life_s)
        )
        self._chronicle.tell("all heals")
        self._outside.healed = True
        self._seats.heal()

    async def _come_to_rest(self) -> None:
        """All that moves by itself ends; then people do their part, until nothing is left to do."""
        for _ in range(ROUNDS_MAX):
            await self._until_nothing_moves()
            if not await self._people.finish():
                return
            await asyncio.sleep(LOOK_S)  # what is slow outside has time to end
        raise AssertionError(f"after {ROUNDS_MAX} rounds there is still something for people to do")

    async def _until_nothing_moves(self) -> None:
        patience_s = REST_S + self._chaos.jumped_back_s
        for _ in range(int(patience_s / LOOK_S)):
            moving = {name: rows for name, query in MOVING if (rows := self._witness.rows(query))}
            if not moving:
                return
            await asyncio.sleep(LOOK_S)
        raise AssertionError(f"nothing came to rest within {patience_s:.0f} s: {moving}")

    async def _findings(self) -> list[str]:
        store = SqliteStore(self._file, self._clock, make_database=self._plain_database)
        report = await audit(store.reads, None, None, None)
        found = [f"audit: {said}" for said in report.findings()]
        async for verdict in verify_all(store.reads, None):
            found += [f"verify: {verdict.ref.session}: {difference.says}" for difference in verdict.differences]
        await store.close()
        held = self._witness.rows(LIVE_LEASES, (self._clock.now(),))
        found += [f"leases: {row['session']} is still held by {row['owner_name']}" for row in held]
        return [*found, *findings(gather(self._witness, self._outside, self._ledger))]

    def _course(self) -> Course:
        for note in self._witness.notes():
            if note.what not in ("commit", "record"):  # these hold nonces
                self._chronicle.seal(f"{note.what} {note.key} {note.was} {note.now} {note.more}")
        [turns] = self._witness.rows("SELECT count(*) AS n FROM transcript WHERE type = 'turn.closed'")
        return Course(
            seed=self._seed,
            digest=self._chronicle.digest,
            lines=tuple(self._chronicle.lines),
            seconds=asyncio.get_running_loop().time(),
            events=len(self._ledger.acknowledged),
            turns=turns["n"],
            sends=len(self._outside.departures),
            deaths=sum(seat.deaths for seat in self._seats.all),
            freezes=self._chaos.freezes,
            jumps=self._chaos.jumps,
        )

    def _chance(self, name: str) -> Random:
        """A stream of its own for each, so that one more draw here does not change all there."""
        return Random(f"{self._seed}/{name}")  # noqa: S311 - a simulation, not a secret

    def _make_app(self) -> App:
        return make_cast(self._outside)

    def _make_channels(self) -> list[EffectAdapter]:
        return [OutsideChannel(self._outside, name, idempotency) for name, idempotency in CHANNELS.items()]

    def _plain_database(self, path: Path, sql: Mapping[str, str], listener: Listener) -> InlineDatabase:
        return InlineDatabase(path, sql, listener, Fuse())

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, Died):
            self._chronicle.surprises.append(f"unhandled: {context['message']}: {error!r}")


def _settings(random: Random) -> EngineSettings:
    """Short leases, so that a life is short; bounds that are reached."""
    ttl_s = 6.0
    return EngineSettings(
        scheduler=SchedulerSettings(
            poll_s=0.5,
            lease_ttl_s=ttl_s,
            idle_grace_s=random.choice([0.5, 3.0]),
            mailbox_rows_max=random.choice([1, 3, 64]),
            load_batch_max=random.choice([3, 64]),
            turns_max=random.choice([1, 2, 256]),
            drain_s=5.0,
        ),
        relay=RelaySettings(
            sends_max=random.choice([1, 3, 256]),
            claim_ttl_s=ttl_s,
            claim_margin_s=1.0,
            check_timeout_s=2.0,
            poll_s=0.5,
            drain_s=5.0,
            backoff=Backoff(0.3, 2.0, 4.0),
        ),
        reconciler=ReconcilerSettings(
            claim_ttl_s=ttl_s, lookup_timeout_s=2.0, look_again_s=1.0, look_again_max_s=8.0, relay_claim_ttl_s=ttl_s
        ),
        threads_max=1,
        grouped=random.random() < 0.8,
    )


def _broken(course: Course, found: list[str]) -> Broken:
    shown = "\n  ".join(found[:FINDINGS_SHOWN_MAX])
    story = "\n  ".join(course.lines[-LINES_SHOWN_MAX:])
    return Broken(
        f"seed {course.seed} broke what must hold:\n  {shown}\nIt ended:\n  {story}\n"
        f"Live it again: TURNLINE_SIM_SEED={course.seed} python -m pytest tests/faults/test_simulation.py",
        course.lines,
    )
