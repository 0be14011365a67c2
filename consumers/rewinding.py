"""Rewind and fork: a session goes on, or another begins, from an earlier checkpoint. Pure.

Nothing is deleted. A rewind is an event like any other, which carries the record that holds from then on, so it can be
rewound itself. What was done outside stays done; what was decided since and not sent is withdrawn.

What the checkpoint awaited is awaited again. A question or a timer that has ended since is opened anew under another
id, since an id is answered once. An outcome that has come since comes again, from what was recorded of it: the effect
itself is never repeated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from consumers.drafting import effect_id_for
from consumers.operating import Action, SessionView, begin, not_archived
from sessionstore.errors import Conflict
from sessionstore.event import Event, Kind, Rank
from sessionstore.history import Point
from sessionstore.inbox import SessionRef
from sessionstore.intervention import Intervention, NewSession
from sessionstore.record import Record
from sessionstore.session import Status
from sessionstore.wait import Wait

TEXT_SHOWN_MAX = 200
ENDED = ("delivered", "failed", "expired", "cancelled")


@dataclass(frozen=True, slots=True)
class Known:
    """What became of what the checkpoint awaited: waits and effects by id, as they are stored now."""

    waits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    effects: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Preview:
    """What it means. `undone` are the turns that will not have happened, `seen` the messages that they had read,
    `stays` what was done outside and cannot be undone, `withdrawn` what will not be sent, `asked_again` the questions
    and timers that are opened anew, `told_again` the outcomes that come again."""

    to_seq: int
    undone: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    asked_again: tuple[str, ...] = ()
    told_again: tuple[str, ...] = ()


@dataclass(slots=True)
class _Restoring:
    """The record of a checkpoint, made fit to go on from."""

    action: Action
    ref: SessionRef
    agent: str
    record: Record
    waits: list[Wait] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    events: list[Event] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def run(self, known: Known, *, own: bool) -> None:
        """Bring what is awaited back. `own` is False for a fork, which shares no wait and no effect with its source."""
        awaited: dict[str, Any] = {}
        for ordinal, (awaited_id, item) in enumerate(self.record["execution"]["awaited"].items()):
            if item["kind"] in ("approval", "timer"):
                self._wait(awaited, ordinal, awaited_id, item, known.waits.get(awaited_id), own)
            elif item["kind"] == "child" and own:
                awaited[awaited_id] = item
            else:
                self._outcome(awaited, awaited_id, item, known.effects.get(awaited_id), own)
        self.record = {**self.record, "execution": {**self.record["execution"], "awaited": awaited}}

    def _wait(
        self,
        awaited: dict[str, Any],
        ordinal: int,
        awaited_id: str,
        item: Mapping[str, Any],
        wait: Mapping[str, Any] | None,
        own: bool,
    ) -> None:
        if wait is None:
            return
        if own and wait["status"] == "open":
            awaited[awaited_id] = item
            self.kept.add(awaited_id)
            return
        new_id = effect_id_for(self.action.operation_id, ordinal)
        awaited[new_id] = {**item, "again_of": awaited_id}
        timer = wait["kind"] == "timer"
        self.waits.append(
            Wait(
                wait_id=new_id,
                kind=wait["kind"],
                then=wait["then"],
                question=wait["question"],
                options=tuple(wait["options"]),
                binds=wait["binds"],
                data=wait["data"],
                expires_at=None if timer else self._expiry(wait),
                due=wait["due"] if timer else None,
                priority=bool(wait["priority"]),
                route=wait["route"],
            )
        )
        self.asked.append(wait["question"] or f"timer for {wait['then']}")

    def _expiry(self, wait: Mapping[str, Any]) -> float | None:
        """A question has as much time as it had when it was asked."""
        due = wait["due"]
        return None if due is None else self.action.at + max(due - wait["asked_at"], 0.0)

    def _outcome(
        self,
        awaited: dict[str, Any],
        awaited_id: str,
        item: Mapping[str, Any],
        effect: Mapping[str, Any] | None,
        own: bool,
    ) -> None:
        awaited[awaited_id] = item
        if effect is not None and effect["state"] not in ENDED and own and not effect["unwanted"]:
            return
        self.events.append(self._told_again(awaited_id, item, effect))
        self.told.append(effect["summary"] if effect is not None else item["question"])

    def _told_again(self, effect_id: str, item: Mapping[str, Any], effect: Mapping[str, Any] | None) -> Event:
        ended = effect is not None and effect["state"] in ENDED
        known: Mapping[str, Any] = effect if effect is not None and ended else {}
        data = {
            "effect_id": effect_id,
            "then": item["then"],
            "outcome": known.get("state", "cancelled"),
            "result": known.get("result"),
            "error": known.get("error", "its outcome belongs to the session that it was forked from"),
            "receipt": known.get("receipt", ""),
            "external_id": known.get("external_id", ""),
            "summary": item["question"],
            "approval": "",
            "facts": {},
            "epoch": 0,
        }
        return Event(
            tenant=self.ref.tenant,
            source="operator",
            id=f"{effect_id}.{self.action.operation_id}",
            type=f"effect.{data['outcome']}",
            session=self.ref.session,
            agent=self.agent,
            data=data,
            time=self.action.at,
            kind=Kind.OUTCOME,
            rank=Rank.RUN,
        )


def rewind(
    view: SessionView, action: Action, point: Point, later: Sequence[Mapping[str, Any]], known: Known
) -> tuple[Intervention, Preview]:
    """Go on from `point`; `later` are the transcript's events after it. What is queued stays queued, and runs then.

    Raises Conflict where the checkpoint is of an epoch that a reset has ended.
    """
    not_archived(view)
    if point.epoch != view.epoch:
        raise Conflict(
            f"the checkpoint at {point.seq} is of epoch {point.epoch}, the session is in {view.epoch}",
            hint="a reset is not rewound; fork the checkpoint instead",
        )
    turns = {row["turn_id"] for row in later}
    restoring = _Restoring(action, view.ref, view.agent, point.record)
    restoring.run(known, own=True)
    acting = begin(view, action, "rewind", to_seq=point.seq)
    acting.withdraw([e for e in view.effects if e["turn_id"] in turns])
    acting.close_waits([w for w in view.waits if w["wait_id"] not in restoring.kept])
    record = _status_of(restoring.record, view)
    body = {"to_seq": point.seq, "conversation": True, "turns": sorted(turns - {""}), "record": record}
    acting.draft.add("session.restored", body)
    acting.draft.waits.extend(restoring.waits)
    acting.changes.update(events=tuple(restoring.events), clear_journal=True)
    return acting.done(), _preview(view, point, later, turns, restoring)


def fork(
    view: SessionView, action: Action, point: Point, target: SessionRef, known: Known
) -> tuple[Intervention, Preview]:
    """A new session `target` that begins with the past of `view` up to `point`; the original is not touched."""
    restoring = _Restoring(action, target, view.agent, point.record)
    restoring.run(known, own=False)
    new = replace(view, ref=target, version=0, seq=point.seq, epoch=0, waits=(), effects=(), status=Status.ACTIVE)
    acting = begin(new, action, "fork", of=view.ref.session, to_seq=point.seq)
    record = _status_of(_unowned(restoring.record), new)
    acting.draft.add("session.restored", {"to_seq": point.seq, "of": view.ref.session, "record": record})
    acting.draft.waits.extend(restoring.waits)
    source = NewSession(view.ref, point.seq, view.agent)
    acting.changes.update(events=tuple(restoring.events), begins=source)
    preview = Preview(point.seq, asked_again=tuple(restoring.asked), told_again=tuple(restoring.told))
    return acting.done(), preview


def _unowned(record: Record) -> Record:
    """Nobody has taken the new session over."""
    return {**record, "control": {**record["control"], "person": ""}}


def _status_of(record: Record, view: SessionView) -> Record:
    """The session's own pause and takeover hold; otherwise it is as it was at the checkpoint, if that can be."""
    control = {**record["control"], "person": view.person}
    if view.status is Status.PAUSED:
        return {**record, "control": {**control, "paused_from": record["status"]}, "status": "paused"}
    if record["status"] in ("paused", "archived"):
        status = "waiting" if record["execution"]["awaited"] else "active"
        return {**record, "control": control, "status": status}
    return {**record, "control": control}


def _preview(
    view: SessionView, point: Point, later: Sequence[Mapping[str, Any]], turns: set[str], restoring: _Restoring
) -> Preview:
    undone = [f"{row['body']['handler'] or 'no handler'} at {row['seq']}" for row in later if _is(row, "turn.closed")]
    seen = [_text(row["body"]) for row in later if _is(row, "message.in")]
    withdrawn = [e["effect_id"] for e in view.effects if e["turn_id"] in turns]
    pending = {e["effect_id"] for e in view.effects if e["turn_id"] in turns and e["state"] in ("pending", "retry")}
    done = [row["body"] for row in later if row["type"] in ("message.out", "effect.requested")]
    stays = {
        b["effect_id"]: str(b.get("text") or b.get("summary") or "")[:TEXT_SHOWN_MAX]
        for b in done
        if b["effect_id"] and b["effect_id"] not in pending
    }
    return Preview(
        to_seq=point.seq,
        undone=tuple(undone),
        seen=tuple(seen),
        stays=tuple(stays.values()),
        withdrawn=tuple(withdrawn),
        asked_again=tuple(restoring.asked),
        told_again=tuple(restoring.told),
    )


def _is(row: Mapping[str, Any], type_: str) -> bool:
    return bool(row["type"] == type_)


def _text(body: Mapping[str, Any]) -> str:
    data = body["data"]
    text = data.get("text") if isinstance(data, Mapping) else data
    return str(text if text is not None else body["type"])[:TEXT_SHOWN_MAX]
