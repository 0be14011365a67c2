"""Compose: from what a turn has seen and decided to its one closing commit. Pure: no I/O, no clock, no chance.

The entries are written in the order in which they make sense to a reader: what came in, what was learnt, what changed,
what goes out, what is awaited, and last the turn's own line with the record's checksum, so that `turnline verify` can
name the first entry that does not fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from consumers.acting import act
from consumers.drafting import Draft, TurnMeta
from consumers.intents import Intents
from consumers.loaded import Loaded
from sessionstore import patch
from sessionstore.commit import Entry, TurnCommit
from sessionstore.event import Event, Kind
from sessionstore.inbox import InboxRow
from sessionstore.record import Record, canonical, checksum
from sessionstore.reducer import fold
from sessionstore.session import Status, Totals

SNAPSHOT_EVERY_TURNS = 64


@dataclass(frozen=True, slots=True)
class Composed:
    """The commit, and the record that it makes."""

    commit: TurnCommit
    record: Record


def compose(
    loaded: Loaded, members: Sequence[InboxRow], meta: TurnMeta, intents: Intents, state: Any | None
) -> Composed:
    """The closing commit. `state` is the agent's state after the handler as plain JSON; None leaves it alone."""
    draft = Draft(loaded.record)
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
    if intents.kept is not None:
        for type_, body in intents.kept.entries():
            draft.add(type_, body)
    for ordinal, action in enumerate(intents.actions):
        act(draft, meta, action, ordinal)
    if meta.failure:
        body = {"error": meta.failure, "attempts": meta.attempt, "dead": meta.dead}
        draft.add("turn.failed", body)
    run = _run(draft, loaded, meta, intents)
    status = _status(draft, intents, run)
    _close(draft, meta, members, intents, run)
    return Composed(_commit(draft, loaded, members, meta, intents, run, status), draft.record)


def _arrivals(draft: Draft, members: Sequence[InboxRow]) -> None:
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


def _learnt(draft: Draft, loaded: Loaded, intents: Intents) -> None:
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


def _run(draft: Draft, loaded: Loaded, meta: TurnMeta, intents: Intents) -> dict[str, Any] | None:
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


def _status(draft: Draft, intents: Intents, run: dict[str, Any] | None) -> Status:
    awaited = draft.record["execution"]["awaited"]
    waiting = awaited and run is None
    status = intents.status or (Status.WAITING.value if waiting else Status.ACTIVE.value)
    if status != draft.record["status"]:
        draft.add("session.status", {"status": status, "reason": intents.reason})
    return Status(status)


def _close(
    draft: Draft, meta: TurnMeta, members: Sequence[InboxRow], intents: Intents, run: dict[str, Any] | None
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
    draft: Draft,
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
        run_id=run["id"] if run and not draft.record["control"].get("person") else "",
        effects=tuple(draft.effects),
        waits=tuple(draft.waits),
        absorbed=tuple(r.pos for r in loaded.receipts),
        reply_route=meta.route,
        dead_reason=meta.failure if meta.dead else "",
        snapshot=turns % SNAPSHOT_EVERY_TURNS == 0,
        lease_ttl_s=meta.lease_ttl_s,
        journaled=meta.journaled,
    )
