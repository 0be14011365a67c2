"""Compose: from what a turn has seen and decided to its one closing commit. Pure: no I/O, no clock, no chance.

The entries are written in the order in which they make sense to a reader: what came in, what was learnt, what changed,
what goes out, what is awaited, and last the turn's own line with the record's checksum, so that `turnline verify` can
name the first entry that does not fit.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

import orjson

from consumers.intents import AskIntent, CallIntent, Intents, ReplyIntent, TimerIntent
from consumers.loaded import Loaded
from sessionstore import patch
from sessionstore.commit import Entry, TurnCommit
from sessionstore.digest import TurnDigest
from sessionstore.effect import Effect
from sessionstore.event import Event, Kind, ReplyRoute
from sessionstore.inbox import InboxRow
from sessionstore.record import Record, canonical, checksum
from sessionstore.reducer import fold
from sessionstore.session import Status, Totals
from sessionstore.wait import Wait

SNAPSHOT_EVERY_TURNS = 64


@dataclass(frozen=True, slots=True)
class TurnMeta:
    """What is known of a turn besides its decisions. `seconds` is time in the handler."""

    turn_id: str
    handler: str
    agent_version: str
    attempt: int
    now: float
    seconds: float
    route: ReplyRoute | None  # the session's, afterwards
    reply_to: ReplyRoute | None  # this turn's; it travels with what the turn awaits
    journaled: bool = False
    lease_ttl_s: float = 30.0
    approval: str = ""
    failure: str = ""
    dead: bool = False


@dataclass(frozen=True, slots=True)
class Composed:
    """The commit, and the record that it makes."""

    commit: TurnCommit
    record: Record


@dataclass(slots=True)
class _Draft:
    record: Record
    entries: list[Entry] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    final: bytes = b""
    sha256: str = ""

    digest: TurnDigest = field(default_factory=TurnDigest)

    def add(self, type_: str, body: dict[str, Any]) -> None:
        self.tell(type_, body)
        self.record = fold(self.record, type_, body)

    def tell(self, type_: str, body: dict[str, Any]) -> None:
        """Append without folding."""
        json = orjson.dumps(body)
        self.digest.add(type_, json)
        self.entries.append(Entry(type_, body, json))


def turn_id_for(loaded: Loaded, first: InboxRow) -> str:
    """The same for each run of the same event, so that a repeated commit is recognised, and effects keep their ids."""
    head = loaded.head
    return _id(f"{head.tenant}\n{head.session}\n{head.epoch}\n{first.pos}")


def effect_id_for(turn_id: str, ordinal: int) -> str:
    """One id per logical result: derived from session (by the turn id), turn and ordinal."""
    return _id(f"{turn_id}\n{ordinal}")


def _id(name: str) -> str:
    """128 bits of SHA-256 in hex: what a name-based UUID gives, at a fifth of its cost on every turn."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def compose(
    loaded: Loaded, members: Sequence[InboxRow], meta: TurnMeta, intents: Intents, state: Any | None
) -> Composed:
    """The closing commit. `state` is the agent's state after the handler as plain JSON; None leaves it alone."""
    draft = _Draft(loaded.record)
    _arrivals(draft, members)
    _learnt(draft, loaded, intents)
    if state is not None:
        ops = patch.diff(draft.record["state"], state)
        if ops:
            # The patch leads to this very state (see the property test), so there is no need to apply it.
            draft.tell("state.patched", {"ops": ops})
            draft.record = {**draft.record, "state": state}
    if intents.noted:
        draft.add("record.noted", dict(intents.noted))
    for ordinal, action in enumerate(intents.actions):
        _act(draft, meta, action, ordinal)
    if meta.failure:
        body = {"error": meta.failure, "attempts": meta.attempt, "dead": meta.dead}
        draft.add("turn.failed", body)
    run = _run(draft, loaded, meta, intents)
    status = _status(draft, intents, run)
    _close(draft, meta, members, intents, run)
    return Composed(_commit(draft, loaded, members, meta, intents, run, status), draft.record)


def _arrivals(draft: _Draft, members: Sequence[InboxRow]) -> None:
    """Tell what came in."""
    for row in members:
        event = row.event
        match event.kind:
            case Kind.ANSWER | Kind.TIMER:
                draft.add("wait.closed", _closed_wait(event))
            case Kind.OUTCOME:
                asked = event.data["outcome"] == "asked"
                draft.add("outcome.asked" if asked else "outcome.received", _received_outcome(event))
            case Kind.MESSAGE | Kind.CRON | Kind.COMMAND:
                draft.add("message.in", _message_in(row))
            case _:
                assert_never(event.kind)


def _message_in(row: InboxRow) -> dict[str, Any]:
    event = row.event
    return {
        "event_id": event.id,
        "source": event.source,
        "type": event.type,
        "kind": event.kind.value,
        "sender": event.sender,
        "data": event.data,
        "received_at": row.received_at,
        "route": event.reply_route,
    }


def _closed_wait(event: Event) -> dict[str, Any]:
    data = event.data
    return {
        "wait_id": data["wait_id"],
        "status": answer_status(data),
        "answer": data["answer"],
        "by": data["by"],
        "note": data["note"],
    }


def answer_status(data: dict[str, Any]) -> str:
    """approved, rejected, answered, expired or fired: the word that a decision is known by."""
    if data["status"] != "answered":
        return str(data["status"])
    words = {"approve": "approved", "approved": "approved", "reject": "rejected", "rejected": "rejected"}
    answer = data["answer"]
    return words.get(answer, "answered") if isinstance(answer, str) else "answered"


def _received_outcome(event: Event) -> dict[str, Any]:
    data = event.data
    names = ("effect_id", "outcome", "summary", "result", "error", "receipt", "external_id")
    return {name: data[name] for name in names}


def _learnt(draft: _Draft, loaded: Loaded, intents: Intents) -> None:
    if loaded.receipts:
        items = [[r.effect_id, r.state, r.receipt, r.error] for r in loaded.receipts]
        draft.add("effects.settled", {"items": items})
    facts = draft.record["observation"]["facts"]
    for name, value in intents.observed.items():
        if name not in facts or not patch.same(facts[name], value):
            draft.add("fact.observed", {"name": name, "value": value, "was": facts.get(name)})
    for key in intents.set_aside:
        draft.add("step.set_aside", {"key": key, "reason": "newer code asks with other arguments"})
    for step in intents.steps:
        draft.add("step.recorded", step)
    if intents.note:
        draft.add("event.unhandled", {"reason": intents.note})


def _act(
    draft: _Draft, meta: TurnMeta, action: ReplyIntent | CallIntent | AskIntent | TimerIntent, ordinal: int
) -> None:
    match action:
        case ReplyIntent():
            _reply(draft, meta, action, ordinal)
        case CallIntent():
            _call(draft, meta, action, ordinal)
        case AskIntent():
            _ask(draft, meta, action, ordinal)
        case TimerIntent():
            wait_id = effect_id_for(meta.turn_id, ordinal)
            wait = Wait(wait_id, "timer", action.then, data=action.data, due=action.due, route=meta.reply_to)
            _open_wait(draft, wait)
        case _:
            assert_never(action)


def _reply(draft: _Draft, meta: TurnMeta, action: ReplyIntent, ordinal: int) -> None:
    route = action.route
    effect_id = effect_id_for(meta.turn_id, ordinal) if route else ""
    lane = str(route.get("lane") or route["adapter"]) if route else ""
    body = {"effect_id": effect_id, "text": action.text, "lane": lane, **action.extra}
    draft.add("message.out", body)
    if route is None:
        return
    effect = Effect(
        effect_id=effect_id,
        adapter=str(route["adapter"]),
        lane=lane,
        target=route,
        body={"text": action.text, **action.extra},
        summary=action.text[:80],
        then=action.then,
        route=meta.reply_to if action.then else None,
    )
    draft.effects.append(effect)
    if action.then:
        draft.add("effect.requested", _requested(effect))


def _call(draft: _Draft, meta: TurnMeta, action: CallIntent, ordinal: int) -> None:
    binds = _bound(draft, action.binds)
    effect = Effect(
        effect_id=effect_id_for(meta.turn_id, ordinal),
        adapter=action.adapter,
        lane=action.lane,
        target=action.target,
        body=action.body,
        summary=action.summary,
        then=action.then,
        binds=binds,
        approval=meta.approval if binds else "",
        expires_at=None if action.ttl_s is None else meta.now + action.ttl_s,
        on_unknown=action.on_unknown,
        route=meta.reply_to if action.then else None,
    )
    draft.effects.append(effect)
    draft.add("effect.requested", _requested(effect))


def _requested(effect: Effect) -> dict[str, Any]:
    return {
        "effect_id": effect.effect_id,
        "adapter": effect.adapter,
        "lane": effect.lane,
        "summary": effect.summary,
        "body": effect.body,
        "then": effect.then,
        "binds": dict(effect.binds),
        "approval": effect.approval,
    }


def _ask(draft: _Draft, meta: TurnMeta, action: AskIntent, ordinal: int) -> None:
    wait = Wait(
        wait_id=effect_id_for(meta.turn_id, ordinal),
        kind="approval",
        then=action.then,
        question=action.question,
        options=action.options,
        binds=_bound(draft, action.binds) if action.binds_to is None else action.binds_to,
        data=action.data,
        expires_at=None if action.expires_s is None else meta.now + action.expires_s,
        priority=action.priority,
        route=action.route,
    )
    _open_wait(draft, wait, action.again_of)
    asked = {"wait_id": wait.wait_id, "options": list(wait.options), "binds": dict(wait.binds)}
    reply = ReplyIntent(action.question, action.route, extra=asked)
    # The question's message has an id of its own, apart from its wait's.
    _reply(draft, meta, reply, ordinal + 1_000_000)


def _open_wait(draft: _Draft, wait: Wait, again_of: str = "") -> None:
    draft.waits.append(wait)
    body = {
        "wait_id": wait.wait_id,
        "kind": wait.kind,
        "then": wait.then,
        "question": wait.question,
        "options": list(wait.options),
        "binds": dict(wait.binds),
        "expires_at": wait.expires_at,
        "due": wait.due,
    }
    if again_of:
        body["again_of"] = again_of
    draft.add("wait.opened", body)


def _bound(draft: _Draft, names: Sequence[str]) -> dict[str, Any]:
    facts = draft.record["observation"]["facts"]
    return {name: facts.get(name) for name in names}


def _run(draft: _Draft, loaded: Loaded, meta: TurnMeta, intents: Intents) -> dict[str, Any] | None:
    """The open run after this turn, or None when nothing of it is awaited any more.

    While a run is open only its own rows and commands run, so whatever runs then belongs to it.
    """
    before = loaded.record["execution"]["run"]
    if before is not None:
        run = dict(before)
    else:
        run = {"id": meta.turn_id, "turns": 0, "effects": 0, "tokens": 0, "cost": 0.0}
    run["turns"] += 1
    run["effects"] += len(draft.effects)
    run["tokens"] += intents.tokens
    run["cost"] += intents.cost
    awaited = draft.record["execution"]["awaited"].values()
    return run if any(item["kind"] == "outcome" for item in awaited) else None


def _status(draft: _Draft, intents: Intents, run: dict[str, Any] | None) -> Status:
    awaited = draft.record["execution"]["awaited"]
    waiting = awaited and run is None
    status = intents.status or (Status.WAITING.value if waiting else Status.ACTIVE.value)
    if status != draft.record["status"]:
        draft.add("session.status", {"status": status, "reason": intents.reason})
    return Status(status)


def _close(
    draft: _Draft, meta: TurnMeta, members: Sequence[InboxRow], intents: Intents, run: dict[str, Any] | None
) -> None:
    body = {
        "turn_id": meta.turn_id,
        "handler": meta.handler,
        "agent_version": meta.agent_version,
        "attempt": meta.attempt,
        "members": [row.pos for row in members],
        "run": run,
        "tokens": intents.tokens,
        "cost": intents.cost,
        "seconds": round(meta.seconds, 6),
    }
    draft.record = fold(draft.record, "turn.closed", body)
    draft.final = canonical(draft.record)
    draft.sha256 = checksum(draft.final)
    draft.digest.add_closing(body)
    closing = {**body, "sha256": draft.sha256, "entries_sha256": draft.digest.hexdigest()}
    draft.entries.append(Entry("turn.closed", closing))


def _commit(
    draft: _Draft,
    loaded: Loaded,
    members: Sequence[InboxRow],
    meta: TurnMeta,
    intents: Intents,
    run: dict[str, Any] | None,
    status: Status,
) -> TurnCommit:
    head, totals = loaded.head, loaded.head.totals
    turns = totals.turns + 1
    return TurnCommit(
        lease=loaded.lease,
        version=head.version,
        turn_id=meta.turn_id,
        members=tuple(row.pos for row in members),
        first_seq=head.seq + 1,
        entries=tuple(draft.entries),
        record=draft.final,
        record_sha256=draft.sha256,
        status=status,
        totals=Totals(turns, totals.tokens + intents.tokens, totals.cost + intents.cost, totals.seconds + meta.seconds),
        run_id=run["id"] if run else "",
        effects=tuple(draft.effects),
        waits=tuple(draft.waits),
        absorbed=tuple(r.pos for r in loaded.receipts),
        reply_route=meta.route,
        dead_reason=meta.failure if meta.dead else "",
        snapshot=turns % SNAPSHOT_EVERY_TURNS == 0,
        lease_ttl_s=meta.lease_ttl_s,
        journaled=meta.journaled,
    )
