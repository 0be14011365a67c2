"""The scheduler: thousands of sessions side by side, each with one turn at a time.

Rows reach it in three ways: notices of this process's own transactions (at once, without reading anything back), the
poll of sessions that are due (what other processes put, what a crash left), and what a commit says comes next. All
three end in a mailbox; a mailbox in the ready queue is worked on by exactly one task, which takes the lease, runs one
turn, and goes to the end of the line. One slow session therefore holds one slot and nothing else.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import assert_never

import structlog

from consumers.collect import collected, quiet_in
from consumers.holding import Holdings
from consumers.loaded import loaded_from
from consumers.mailbox import Mailbox, Phase
from consumers.readyqueue import ReadyQueue
from consumers.runner import Done, Lost, PutOff, Runner
from sessionstore.clock import Clock
from sessionstore.errors import StoreError
from sessionstore.event import Kind, Rank
from sessionstore.inbox import InboxRow, SessionRef
from sessionstore.leases import Busy, Gone, Held
from sessionstore.notice import Notice
from sessionstore.session import Status
from sessionstore.store import Store

log = structlog.get_logger(__name__)

TROUBLED_MAX_S = 60.0
UNKNOWN_AGENTS_TOLD_MAX = 100


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """Limits of the scheduler's loops."""

    turns_max: int = 256
    poll_s: float = 0.25
    poll_batch_max: int = 256
    lease_ttl_s: float = 30.0
    idle_grace_s: float = 3.0
    mailbox_rows_max: int = 64
    mailbox_bytes_max: int = 1_000_000
    buffered_bytes_max: int = 64_000_000
    load_batch_max: int = 64
    drain_s: float = 20.0


class Scheduler:
    """Runs sessions until stopped; `run` returns after `stop`, when turns have ended or the drain time is over."""

    def __init__(
        self,
        store: Store,
        runner: Runner,
        clock: Clock,
        random: Random,
        *,
        owner: str,
        settings: SchedulerSettings | None = None,
    ) -> None:
        self._store = store
        self._runner = runner
        self._clock = clock
        self._random = random
        self._owner = owner
        self._settings = settings or SchedulerSettings()
        self._mailboxes: dict[SessionRef, Mailbox] = {}
        self._ready = ReadyQueue()
        self._running: dict[SessionRef, asyncio.Task[None]] = {}
        self._buffered = 0
        self._wake = asyncio.Event()
        self._stopping = False
        self._unknown_agents: set[str] = set()
        self._troubled: dict[SessionRef, tuple[int, float]] = {}
        self._holdings = Holdings(store.leases, clock, self._settings.lease_ttl_s, self._settings.idle_grace_s)
        self.progress_at = clock.monotonic()

    def notice(self, notice: Notice) -> None:
        """Listener for the store: rows that are durable now, and sessions to look at."""
        if self._stopping:
            return
        for accepted in notice.rows:
            event = accepted.row.event
            if not self._runner.knows(event.agent):
                self._tell_unknown(event.agent)
                continue
            mailbox = self._mailbox(SessionRef(event.tenant, event.session))
            rows_max = self._settings.mailbox_rows_max if self._room() else 0
            self._buffered += mailbox.offer(accepted, rows_max, self._settings.mailbox_bytes_max)
            self._make_ready(mailbox)
        if notice.revoked:
            self._lost(ref for ref in notice.revoked if self._holds(ref))
        for ref in notice.woken:
            self.poke(ref)

    def poke(self, ref: SessionRef) -> None:
        """Look at a session's rows in the store."""
        mailbox = self._mailbox(ref)
        mailbox.gap = True
        self._make_ready(mailbox)

    def is_running(self, ref: SessionRef) -> bool:
        """Whether a turn of this session is under way here."""
        return ref in self._running

    @property
    def load(self) -> tuple[int, int]:
        """Turns under way, and sessions ready to run."""
        return len(self._running), len(self._ready)

    def stop(self) -> None:
        """Take nothing more; `run` returns when what is under way has ended."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        """Schedule until stopped."""
        poller = asyncio.create_task(self._poll())
        keeper = asyncio.create_task(self._holdings.keep(self._lost, self._let_go))
        try:
            while not self._stopping:
                self._wake.clear()
                self._start_ready()
                await self._wake.wait()
        finally:
            poller.cancel()
            await asyncio.gather(poller, return_exceptions=True)
            await self._drain()
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)
            await self._holdings.release_all()

    def _holds(self, ref: SessionRef) -> bool:
        mailbox = self._mailboxes.get(ref)
        return mailbox is not None and mailbox.loaded is not None

    def _room(self) -> bool:
        return self._buffered < self._settings.buffered_bytes_max

    def _mailbox(self, ref: SessionRef) -> Mailbox:
        mailbox = self._mailboxes.get(ref)
        if mailbox is None:
            mailbox = self._mailboxes[ref] = Mailbox(ref)
        return mailbox

    def _make_ready(self, mailbox: Mailbox) -> None:
        if self._mailboxes.get(mailbox.ref) is not mailbox:
            return
        if mailbox.phase in (Phase.IDLE, Phase.HOLDING):
            mailbox.phase = Phase.READY
            self._ready.push(mailbox)
            self._wake.set()

    def _start_ready(self) -> None:
        while len(self._running) < self._settings.turns_max:
            mailbox = self._ready.pop()
            if mailbox is None:
                return
            mailbox.phase = Phase.RUNNING
            task = asyncio.create_task(self._work(mailbox))
            self._running[mailbox.ref] = task

    async def _work(self, mailbox: Mailbox) -> None:
        """One activation: at most one turn, then to the end of the line, on hold, or gone."""
        again = False
        try:
            again = await self._activate(mailbox)
        except asyncio.CancelledError:
            self._drop(mailbox)
            raise
        except StoreError as error:
            log.warning("session.store_failed", session=mailbox.ref.session, code=error.code, error=str(error))
            self._trouble(mailbox.ref)
            self._drop(mailbox)
        except Exception:
            log.exception("session.activation_failed", session=mailbox.ref.session)
            self._trouble(mailbox.ref)
            self._drop(mailbox)
        finally:
            self._running.pop(mailbox.ref, None)
            self.progress_at = self._clock.monotonic()
            self._after(mailbox, again)

    def _after(self, mailbox: Mailbox, again: bool) -> None:
        if again and not self._stopping:
            mailbox.phase = Phase.READY
            self._ready.push(mailbox)
        elif mailbox.loaded is not None:
            mailbox.phase = Phase.HOLDING
            mailbox.idle_since = self._clock.monotonic()
            self._holdings.idle(mailbox)
        else:
            mailbox.phase = Phase.IDLE
            self._mailboxes.pop(mailbox.ref, None)
        self._wake.set()

    async def _activate(self, mailbox: Mailbox) -> bool:
        """Run the next turn if there is one; True when more may follow at once."""
        next_pos = await self._next(mailbox)
        loaded = mailbox.loaded
        if loaded is None:
            return False
        if next_pos == 0:
            # A row may have come while the store was asked; its notice found this session running.
            return mailbox.gap or self._known(mailbox) is not None
        if not self._runner.knows(loaded.head.agent):
            self._drop(mailbox)
            return False
        rows = await self._rows(mailbox, next_pos)
        if not rows:
            return False
        # The commit will say what comes next as of then; a gap that shows meanwhile is one to look into afterwards.
        mailbox.gap = False
        result = await self._runner.run(loaded, rows)
        if mailbox.lost:
            self._drop(mailbox)
            return False
        match result:
            case Done(loaded=after, next_pos=following, next_due=next_due):
                mailbox.loaded = after
                mailbox.next_pos = following
                # As after taking the lease: a first row that is not due yet is not known here.
                mailbox.gap = mailbox.gap or (not following and next_due is not None)
                self._troubled.pop(mailbox.ref, None)
                return following != 0 or mailbox.gap or self._known(mailbox) is not None
            case PutOff():
                self._drop(mailbox)
                return False
            case Lost(reason=reason):
                log.info("session.lost", session=mailbox.ref.session, reason=reason)
                self._drop(mailbox)
                return False
            case _:
                assert_never(result)

    async def _next(self, mailbox: Mailbox) -> int:
        """The position to run next (0: none), with the lease held and the session loaded when there is one."""
        if mailbox.loaded is None:
            return await self._acquire(mailbox)
        following, mailbox.next_pos = mailbox.next_pos, 0
        known = self._known(mailbox)
        if following and (known is None or known.event.rank == Rank.REST):
            return following
        # What is known overtakes what follows only by its rank, and that of a row which is not known here is not known.
        if mailbox.gap or (following and following not in mailbox.rows):
            mailbox.gap = False
            await self._load(mailbox)
            known = self._known(mailbox)
        return known.pos if known is not None else 0

    def _known(self, mailbox: Mailbox) -> InboxRow | None:
        run_open = mailbox.loaded is not None and mailbox.loaded.head.run_id != ""
        person = mailbox.loaded is not None and bool(mailbox.loaded.record["control"].get("person"))
        return mailbox.first_known(run_open, self._clock.now(), person=person)

    async def _acquire(self, mailbox: Mailbox) -> int:
        [result] = await self._store.leases.acquire([mailbox.ref], self._owner, self._settings.lease_ttl_s)
        match result:
            case Held() if result.head.status in (Status.PAUSED, Status.ARCHIVED):
                # Nothing runs; what is put stays queued, and is looked at again when the pause ends.
                self._holdings.give_back(result.lease)
                self._drop(mailbox)
                return 0
            case Held():
                mailbox.loaded = loaded_from(result)
                mailbox.lost = False
                # A first row that is not due yet is not known here; nothing may overtake it.
                mailbox.gap = mailbox.tail != result.head.tail or (not result.next_pos and result.next_due is not None)
                self._buffered -= mailbox.taken(result.next_pos, result.head.tail)
                mailbox.tail = max(mailbox.tail, result.head.tail)
                self._holdings.add(mailbox)
                return result.next_pos
            case Busy() | Gone():
                self._drop(mailbox)
                return 0
            case _:
                assert_never(result)

    async def _load(self, mailbox: Mailbox) -> list[InboxRow]:
        rows = await self._store.inbox.queued(mailbox.ref, self._settings.load_batch_max)
        for row in rows:
            self._buffered += mailbox.keep(row)
        return rows

    async def _rows(self, mailbox: Mailbox, pos: int) -> list[InboxRow]:
        """The rows of the next turn: one, or a collected batch."""
        if pos not in mailbox.rows:
            await self._load(mailbox)
        first = mailbox.rows.get(pos)
        if first is None or mailbox.loaded is None:
            return []
        policy = self._runner.policy(mailbox.loaded.head.agent)
        batch = [first]
        journal = mailbox.loaded.journal
        if journal is not None and journal.members[0] == pos:
            # It has recorded steps over these rows, so it runs again over the same ones.
            batch = [row for row in await self._load(mailbox) if row.pos in journal.members] or batch
        elif policy.mode == "collect" and first.event.kind == Kind.MESSAGE:
            # Not of what is cached: beyond what was read, there may be gaps in that.
            batch = collected(await self._load(mailbox), first, policy) or batch
            wait_s = quiet_in(batch, policy, self._clock.now())
            if wait_s > 0:
                # No slot is held meanwhile; a new message looks again sooner.
                asyncio.get_running_loop().call_later(wait_s, self._make_ready, mailbox)
                return []
        for row in batch:
            self._buffered -= row.size
            mailbox.take(row.pos)
        return batch

    def _drop(self, mailbox: Mailbox) -> None:
        """Forget the session; its lease is given back if it is still ours."""
        if mailbox.loaded is not None and not mailbox.lost:
            self._holdings.give_back(mailbox.loaded.lease)
        self._holdings.remove(mailbox)
        self._buffered -= mailbox.forget()

    def _lost(self, refs: Iterable[SessionRef]) -> None:
        """Leases that could not be renewed: their turns are stopped, and could not commit anyway."""
        for ref in refs:
            mailbox, task = self._mailboxes.get(ref), self._running.get(ref)
            if mailbox is not None:
                mailbox.lost = True
            if task is not None:
                log.warning("session.lease_lost", session=ref.session)
                task.cancel()
            elif mailbox is not None and mailbox.phase is Phase.HOLDING:
                self._drop(mailbox)
                self._after(mailbox, again=False)

    def _let_go(self, mailboxes: Iterable[Mailbox]) -> None:
        """Leases that were idle for long enough."""
        for mailbox in mailboxes:
            if mailbox.phase is Phase.HOLDING:
                self._drop(mailbox)
                self._after(mailbox, again=False)

    def _tell_unknown(self, agent: str) -> None:
        if agent not in self._unknown_agents and len(self._unknown_agents) < UNKNOWN_AGENTS_TOLD_MAX:
            self._unknown_agents.add(agent)
            log.warning("session.unknown_agent", agent=agent, hint="its events wait for a worker whose app has it")

    def _trouble(self, ref: SessionRef) -> None:
        """Something other than its handler failed: look at this session again later, and later each time."""
        failures, _ = self._troubled.get(ref, (0, 0.0))
        wait_s = min(2.0**failures, TROUBLED_MAX_S)
        self._troubled[ref] = (failures + 1, self._clock.monotonic() + wait_s)

    def _is_troubled(self, ref: SessionRef) -> bool:
        return ref in self._troubled and self._clock.monotonic() < self._troubled[ref][1]

    async def _poll(self) -> None:
        while True:
            try:
                for ref in await self._store.inbox.runnable(self._runner.agents, self._settings.poll_batch_max):
                    if ref not in self._mailboxes and not self._is_troubled(ref):
                        self.poke(ref)
            except Exception:
                log.exception("scheduler.poll_failed")
            await asyncio.sleep(self._settings.poll_s * self._random.uniform(0.8, 1.2))

    async def _drain(self) -> None:
        tasks = list(self._running.values())
        if not tasks:
            return
        log.info("scheduler.draining", turns=len(tasks))
        _, late = await asyncio.wait(tasks, timeout=self._settings.drain_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
