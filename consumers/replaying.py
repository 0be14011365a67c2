"""Replay: what happened after a checkpoint is run again by the app of today, in memory, and compared.

The session itself is read and nothing is written: turns commit to scratch seams, under inbox positions that no real
event has, so that every id is its own. The same messages, answers and timers come in, in the same order and at the same
times. Facts are as they were observed then. A recorded step is reused where it is asked the same. Effects are not
carried out: `stubbed` answers each at once, `recorded` gives the outcome that the same request had.
"""

import copy
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from consumers.agent import Agent
from consumers.drafting import turn_id_for
from consumers.loaded import Loaded
from consumers.replayed import Chapter, Report, compared
from consumers.retelling import ARRIVALS, Body, Chapters, Told, said, same_request, same_wait, told_turns
from consumers.runner import Done, Runner
from consumers.scratch import Scratch, ScratchArtifacts, ScratchClock
from sessionstore.artifact import ArtifactStore
from sessionstore.errors import BadInput, NotFound
from sessionstore.event import Event, Kind
from sessionstore.history import Point, events_after, point_at
from sessionstore.inbox import InboxRow, SessionRef
from sessionstore.leases import Journal, Lease, StepRecord
from sessionstore.session import Head, Status, Totals
from sessionstore.store import Store

TURNS_MAX = 1_000
STUBS_IN_A_ROW_MAX = 100
EFFECTS = ("stubbed", "recorded")
FOR_EVER = 4e12


async def replay(
    store: Store,
    agents: Mapping[str, Agent[Any]],
    ref: SessionRef,
    from_seq: int,
    *,
    to_seq: int | None = None,
    effects: str = "stubbed",
    stubs: Mapping[str, Any] | None = None,
    artifacts: ArtifactStore | None = None,
) -> Report:
    """Run again what came after the checkpoint at `from_seq`, up to `to_seq`. Writes nothing.

    `stubs` are results by the name of a tool or adapter. Raises NotFound, BadInput for what is no checkpoint or an app
    without the agent, Damaged where the checkpoint's checksum does not hold.
    """
    if effects not in EFFECTS:
        raise BadInput(f"effects cannot be {effects!r}", hint=f"use {' or '.join(EFFECTS)}")
    head = await store.reads.session(ref)
    if head is None:
        raise NotFound(f"there is no session {ref.session}", hint="`turnline sessions list` shows them")
    if head["agent"] not in agents:
        raise BadInput(f"this app has no agent {head['agent']!r}", hint="give the app that runs this session")
    point = await point_at(store.reads, ref, from_seq)
    rows = [r async for r in events_after(store.reads, ref, from_seq) if to_seq is None or r["seq"] <= to_seq]
    told = list(told_turns(point.record, rows))
    if len(told) > TURNS_MAX:
        raise BadInput(f"{len(told)} turns are too many for one replay, {TURNS_MAX} fit", hint="name an earlier end")
    with ThreadPoolExecutor(1, thread_name_prefix="turnline-replay") as threads:
        life = _Life(store, agents[head["agent"]], ref, point, head["reply_route"], threads, artifacts)
        again = _Replay(life, effects, stubs or {})
        for turn in told:
            if turn.broken_off:
                again.left_out.append(f"everything from {turn.seq} on: {turn.operated} goes on from another record")
                break
            await again.relive(turn)
    return again.report(from_seq)


class _Life:
    """The session's other life: its record so far, and the real runner over scratch seams."""

    def __init__(
        self,
        store: Store,
        agent: Agent[Any],
        ref: SessionRef,
        point: Point,
        route: Any,
        threads: ThreadPoolExecutor,
        artifacts: ArtifactStore | None,
    ) -> None:
        self.ref = ref
        self.clock = ScratchClock()
        self.scratch = Scratch(store.waits)
        self.facts: dict[str, Any] = {}
        self.agent = self._rehearsing(agent)
        kept = ScratchArtifacts(artifacts, self.clock) if artifacts is not None else None
        scratch, agents = self.scratch, {agent.name: self.agent}
        self._runner = Runner(
            agents,
            scratch,
            scratch,
            scratch,
            self.clock,
            Random(0),  # noqa: S311 - nothing here is secret
            threads,
            artifacts=kept,
        )
        head = Head(
            tenant=ref.tenant,
            session=ref.session,
            agent=agent.name,
            status=Status(point.record["status"]),
            epoch=point.epoch,
            version=0,
            seq=point.seq,
            fence=0,
            tail=0,
            run_id="",
            last_turn="",
            attempt=0,
            attempt_pos=0,
            reply_route=route,
            totals=Totals(),
            created_at=point.at,
            updated_at=point.at,
        )
        self.loaded = Loaded(Lease(ref, "replay", 0, FOR_EVER), head, point.record, (), None, took_over=False)
        self._pos = 0

    async def turn(
        self, events: Sequence[Event], steps: Sequence[Body], agent_version: str
    ) -> tuple[tuple[str, Body], ...]:
        """Run one turn; returns its transcript entries."""
        rows = []
        for event in events:
            self._pos -= 1
            rows.append(InboxRow(self._pos, event, self.clock.at, self.loaded.head.epoch))
        turn_id = turn_id_for(self.loaded, rows[0])
        known = {s["key"]: StepRecord(s["key"], s["args_hash"], s["result"]) for s in steps}
        journal = Journal(turn_id, tuple(row.pos for row in rows), agent_version, known) if known else None
        result = await self._runner.run(replace(self.loaded, journal=journal), rows)
        if not isinstance(result, Done) or self.scratch.last is None:
            raise BadInput(f"a replayed turn did not end: {result}", hint="this is a fault of the replay; report it")
        self.loaded = replace(result.loaded, journal=None)
        return tuple((entry.type, entry.body) for entry in self.scratch.last.entries)

    def _rehearsing(self, agent: Agent[Any]) -> Agent[Any]:
        """The agent, tried once a turn, with facts as they were observed then."""
        rehearsing = copy.copy(agent)
        rehearsing.failure = replace(agent.failure, attempts_max=1)
        rehearsing.observers = {name: self._observed(name, look) for name, look in agent.observers.items()}
        return rehearsing

    def _observed(self, name: str, look: Any) -> Any:
        def observed(session: Any) -> Any:
            # A fact that nobody looked at then has to be looked at now; observers only read.
            return self.facts[name] if name in self.facts else look(session)

        return observed


@dataclass(slots=True)
class _Replay:
    """Feeds the other life what came in the first, and keeps both stories."""

    life: _Life
    effects: str
    stubs: Mapping[str, Any]
    then: Chapters = field(default_factory=Chapters)
    now: Chapters = field(default_factory=Chapters)
    left_out: list[str] = field(default_factory=list)
    _first: list[Body] = field(default_factory=list)  # requests of the first life, not matched yet
    _second: list[Body] = field(default_factory=list)  # of the other one
    _waits: list[Body] = field(default_factory=list)  # questions and timers of the other one that are open
    _asked: dict[str, Body] = field(default_factory=dict)  # questions and timers of the first, by id
    _stubbed: int = 0
    _turns: int = 0
    _ended: Told | None = None

    async def relive(self, turn: Told) -> None:
        """One turn of the first life, again."""
        self._ended = turn
        self.life.clock.at = turn.at
        self.life.facts = dict(turn.record["observation"]["facts"])
        outcomes = [body for type_, body in turn.arrivals if type_ in ("outcome.received", "outcome.asked")]
        if turn.operated:
            self.left_out.append(f"{turn.operated} at {turn.seq}: what an operator did is not done again")
        elif outcomes:
            self.then.add(
                self.then.of(outcomes[0]["effect_id"]) if self.then.texts else self._begin(turn), turn.entries
            )
            await self._outcome(turn, outcomes[0])
        else:
            self.then.add(self._begin(turn), turn.entries)
            events = self._events(turn)
            if events:
                await self._run(events, turn)
        self._first += turn.requests()
        self._asked.update((wait["wait_id"], wait) for wait in turn.waits())
        if self.effects == "stubbed":
            await self._stub_all()

    def report(self, from_seq: int) -> Report:
        """What is the same, and what is not."""
        texts = self.then.texts
        pairs = zip(texts, self.then.contents, self.now.contents, strict=True)
        chapters = tuple(Chapter(text, tuple(then), tuple(now), compared(then, now)) for text, then, now in pairs)
        ended = self._ended
        before = ended.record["state"] if ended is not None else self.life.loaded.record["state"]
        return Report(
            session=self.life.ref.session,
            from_seq=from_seq,
            to_seq=ended.seq if ended is not None else from_seq,
            effects=self.effects,
            turns=self._turns,
            chapters=chapters,
            state_before=before,
            state_after=self.life.loaded.record["state"],
            left_out=tuple(self.left_out),
        )

    def _begin(self, turn: Told) -> int:
        text = "; ".join(said(type_, body) for type_, body in turn.arrivals) or "nothing"
        self.now.begin(text)
        return self.then.begin(text)

    async def _run(self, events: Sequence[Event], turn: Told | None, chapter: int | None = None) -> None:
        steps = list(turn.steps()) if turn is not None else []
        entries = await self.life.turn(events, steps, "")
        self._turns += 1
        self.now.add(len(self.now.texts) - 1 if chapter is None else chapter, _decided(entries))
        self._second += [body for type_, body in entries if type_ == "effect.requested" and body["then"]]
        self._waits += [body for type_, body in entries if type_ == "wait.opened"]

    def _events(self, turn: Told) -> list[Event]:
        """What came in, as events of the other life; empty where that one does not wait for it."""
        found = [self._event(type_, body, turn) for type_, body in turn.arrivals]
        return [event for event in found if event is not None]

    def _event(self, type_: str, body: Body, turn: Told) -> Event | None:
        if type_ == "message.in":
            return self._make(
                body["event_id"],
                body["type"],
                Kind(body["kind"]),
                body["data"],
                source=body["source"],
                sender=body["sender"],
                reply_route=body["route"],
            )
        wait = self._wait(body["wait_id"])
        if wait is None:
            self.left_out.append(f"{said(type_, body)} at {turn.seq}: what it answers was not asked this time")
            return None
        return self._answer(wait, body)

    def _wait(self, wait_id: str) -> Body | None:
        """The other life's wait for which an answer of the first one is meant."""
        awaited = self.life.loaded.record["execution"]["awaited"]
        if wait_id in awaited:  # asked before the checkpoint
            return {"wait_id": wait_id, **awaited[wait_id]}
        first = self._asked.get(wait_id)
        found = next((w for w in self._waits if first is not None and same_wait(w, first)), None)
        if found is not None:
            self._waits.remove(found)
        return found

    def _answer(self, wait: Body, body: Body) -> Event:
        timer, asked = wait["kind"] == "timer", self.life.scratch.waits.get(wait["wait_id"])
        status = "answered" if body["status"] in ("approved", "rejected", "answered") else body["status"]
        data = {
            "wait_id": wait["wait_id"],
            "then": wait["then"],
            "question": wait["question"],
            "binds": wait["binds"],
            "data": asked.data if asked is not None else None,
            "epoch": 0,
            "status": status,
            "answer": body["answer"],
            "by": body["by"],
            "note": body["note"],
        }
        kind = Kind.TIMER if timer else Kind.ANSWER
        route = asked.route if asked is not None else None
        return self._make(wait["wait_id"], f"{wait['kind']}.{status}", kind, data, reply_route=route)

    async def _outcome(self, turn: Told, body: Body) -> None:
        """An outcome of the first life: given where the other one has asked for the same."""
        chapter = self.then.of(body["effect_id"])
        if body["effect_id"] in self.life.loaded.record["execution"]["awaited"]:
            await self._run([self._ended_as(body["effect_id"], self._awaited(body["effect_id"]), body)], turn, chapter)
            return
        if self.effects == "stubbed" or "outcome" not in body:
            return
        first = next((r for r in self._first if r["effect_id"] == body["effect_id"]), None)
        second = next((r for r in self._second if first is not None and same_request(r, first)), None)
        if second is None:
            self.left_out.append(f"{said('outcome.received', body)} at {turn.seq}: it was not asked for this time")
            return
        self._second.remove(second)
        await self._run([self._ended_as(second["effect_id"], second, body)], turn, chapter)

    def _awaited(self, effect_id: str) -> Body:
        item = self.life.loaded.record["execution"]["awaited"][effect_id]
        return {"then": item["then"], "summary": item["question"], "approval": ""}

    async def _stub_all(self) -> None:
        """Answer what is awaited, and what follows from the answers, at once."""
        self._stubbed = 0
        while self._second:
            if self._stubbed >= STUBS_IN_A_ROW_MAX:
                self.left_out.append(f"after {STUBS_IN_A_ROW_MAX} stubbed outcomes in a row, no more were given")
                self._second.clear()
                return
            self._stubbed += 1
            request = self._second.pop(0)
            result = self.stubs.get(_tool(request))
            body = {"outcome": "delivered", "result": result, "error": "", "receipt": "", "external_id": ""}
            chapter = self.now.of(request["effect_id"])
            await self._run([self._ended_as(request["effect_id"], request, body)], None, chapter)

    def _ended_as(self, effect_id: str, request: Body, body: Body) -> Event:
        data = {
            **{name: body.get(name) for name in ("outcome", "result", "error", "receipt", "external_id")},
            "effect_id": effect_id,
            "then": request["then"],
            "summary": request["summary"],
            "approval": request["approval"],
            "facts": dict(self.life.facts),
            "epoch": 0,
        }
        return self._make(effect_id, f"effect.{data['outcome']}", Kind.OUTCOME, data)

    def _make(self, event_id: str, type_: str, kind: Kind, data: Any, *, source: str = "replay", **more: Any) -> Event:
        ref, agent = self.life.ref, self.life.agent.name
        return Event(
            ref.tenant, source, event_id, type_, ref.session, agent, data, time=self.life.clock.at, kind=kind, **more
        )


def _decided(entries: Sequence[tuple[str, Body]]) -> list[tuple[str, Body]]:
    return [entry for entry in entries if entry[0] not in ARRIVALS]


def _tool(request: Body) -> str:
    """The name that a stub is given by: the tool's, or the adapter's."""
    adapter = str(request["adapter"])
    return adapter.rpartition(".")[2] if adapter.startswith("tool:") else adapter
