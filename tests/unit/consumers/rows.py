"""Rows, sessions and records as the pure parts of the consumers get them."""

from collections.abc import Mapping
from typing import Any

from consumers.loaded import Loaded
from sessionstore.event import Event, Kind, Rank
from sessionstore.inbox import Accepted, InboxRow, SessionRef
from sessionstore.leases import Lease, Receipt
from sessionstore.record import Record, new_record
from sessionstore.session import Head, Status, Totals

REF = SessionRef("acme", "agent:a/dm:1")
ROUTE = {"adapter": "fake", "lane": "chat", "to": "u1"}


def message(text: str = "hello", **changes: Any) -> Event:
    given: dict[str, Any] = {
        "source": "test",
        "id": f"id-{text}",
        "type": "message",
        "data": {"text": text},
        "reply_route": ROUTE,
        **changes,
    }
    return Event(tenant=REF.tenant, session=REF.session, agent="a", **given)


def row(pos: int, event: Event | None = None, *, at: float = 0.0, due: float = 0.0, size: int = 10) -> InboxRow:
    return InboxRow(pos, event or message(f"m{pos}"), at, 0, due, size)


def ranked(pos: int, rank: Rank, **changes: Any) -> InboxRow:
    return row(pos, message(f"m{pos}", rank=rank), **changes)


def accepted(pos: int, previous: int, **changes: Any) -> Accepted:
    return Accepted(row(pos, **changes), previous)


def answered(wait_id: str, answer: Any = "approve", *, status: str = "answered", **changes: Any) -> Event:
    data = {
        "wait_id": wait_id,
        "then": "go",
        "question": "Go?",
        "binds": {},
        "data": None,
        "epoch": 0,
        "status": status,
        "answer": answer,
        "by": "ann",
        "note": "",
        **changes,
    }
    return Event("acme", "wait", wait_id, f"approval.{status}", REF.session, "a", data, kind=Kind.ANSWER)


def ended(effect_id: str, outcome: str = "delivered", **changes: Any) -> Event:
    data = {
        "effect_id": effect_id,
        "then": "after",
        "outcome": outcome,
        "result": None,
        "error": "",
        "receipt": "",
        "external_id": "",
        "summary": "s",
        "approval": "",
        "facts": {},
        "epoch": 0,
        **changes,
    }
    return Event("acme", "outbox", f"{effect_id}.1", f"effect.{outcome}", REF.session, "a", data, kind=Kind.OUTCOME)


def fired(wait_id: str, data: Any = None) -> Event:
    body = {**answered(wait_id).data, "status": "fired", "data": data, "then": "wake"}
    return Event("acme", "wait", wait_id, "timer.fired", REF.session, "a", body, kind=Kind.TIMER)


def awaiting(**awaited: Mapping[str, Any]) -> Record:
    record = new_record()
    record["execution"]["awaited"] = {name: dict(item) for name, item in awaited.items()}
    return record


def loaded(record: Record | None = None, *, receipts: tuple[Receipt, ...] = (), **changes: Any) -> Loaded:
    given: dict[str, Any] = {
        "status": Status.ACTIVE,
        "epoch": 0,
        "version": 3,
        "seq": 10,
        "fence": 2,
        "tail": 9,
        "run_id": "",
        "last_turn": "",
        "attempt": 0,
        "attempt_pos": 0,
        "reply_route": None,
        "totals": Totals(3, 10, 0.5, 1.0),
        "created_at": 0.0,
        "updated_at": 0.0,
        **changes,
    }
    head = Head(tenant=REF.tenant, session=REF.session, agent="a", **given)
    return Loaded(Lease(REF, "nonce", 2, 100.0), head, record or new_record(), receipts, None, took_over=False)
