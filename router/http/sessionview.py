"""How a session is shown: from its stored head and record to the API's forms. Pure."""

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
PREVIEW_CHARS_MAX = 200


def line(head: Row, last_text: str) -> dict[str, Any]:
    """One line of the list."""
    execution = _section(head, "execution")
    return {
        "key": head["session"],
        "agent": head["agent"],
        "status": head["status"],
        "epoch": head["epoch"],
        "phase": execution.get("phase", ""),
        "turns": head["turns"],
        "queued": head["queued"],
        "waits_open": len(execution.get("awaited", {})),
        "effects_open": head["effects_open"],
        "last_text": last_text[:PREVIEW_CHARS_MAX],
        "updated_at": head["updated_at"],
    }


def view(head: Row, now: float) -> dict[str, Any]:
    """One session, whole."""
    record, execution = head["record"] or {}, _section(head, "execution")
    awaited = [_awaited(wait_id, item) for wait_id, item in execution.get("awaited", {}).items()]
    queued = [_queued(row, now) for row in head["queued_rows"]]
    return {
        "key": head["session"],
        "agent": head["agent"],
        "status": head["status"],
        "reason": record.get("reason", ""),
        "epoch": head["epoch"],
        "seq": head["seq"],
        "phase": execution.get("phase", ""),
        "next": _next(head, awaited, queued),
        "plan_next": execution.get("plan_next", ""),
        "goal": record.get("goal", {}),
        "run": execution.get("run"),
        "awaited": awaited,
        "queued": queued,
        "effects_open": head["effects_open"],
        "facts": _section(head, "observation").get("facts", {}),
        "state": record.get("state", {}),
        "totals": {name: head[name] for name in ("turns", "tokens", "cost", "seconds")},
        "lease": _lease(head, now),
        "reply_route": head["reply_route"],
        "created_at": head["created_at"],
        "updated_at": head["updated_at"],
    }


def _section(head: Row, name: str) -> dict[str, Any]:
    section: dict[str, Any] = (head["record"] or {}).get(name, {})
    return section


def _awaited(wait_id: str, item: Row) -> dict[str, Any]:
    return {
        "wait_id": wait_id,
        "kind": item["kind"],
        "question": item["question"],
        "then": item["then"],
        "binds": item["binds"],
        "expires_at": item.get("expires_at"),
        "due": item.get("due"),
    }


def _queued(row: Row, now: float) -> dict[str, Any]:
    event = row["event"]
    data = event["data"]
    text = data.get("text", "") if isinstance(data, Mapping) else data
    return {
        "pos": row["pos"],
        "kind": row["kind"],
        "type": event["type"],
        "text": text[:PREVIEW_CHARS_MAX] if isinstance(text, str) else "",
        "received_at": row["received_at"],
        "due": row["due"] if row["due"] > now else None,
    }


def _lease(head: Row, now: float) -> dict[str, Any] | None:
    if not head["owner"] or (head["lease_until"] or 0.0) <= now:
        return None
    return {"owner": head["owner"], "until": head["lease_until"]}


def _next(head: Row, awaited: list[dict[str, Any]], queued: list[dict[str, Any]]) -> str | None:
    """What comes next, in a sentence; None for a session that is idle until something arrives."""
    outcomes = [item["question"] for item in awaited if item["kind"] == "outcome"]
    if head["status"] == "paused":
        return "Paused: nothing runs until it is unpaused."
    if outcomes:
        return f"Waits for the outcome of {outcomes[0]}{_and_more(outcomes)}."
    if any(row["due"] is None for row in queued):
        return f"Runs the next of {head['queued']} queued events." if head["queued"] > 1 else "Runs the queued event."
    if queued:
        tried = (
            f" It was tried {head['attempt']} times: {head['attempt_error'] or 'no error is known'}."
            if head["attempt"]
            else ""
        )
        return f"Runs the queued event again once it is due.{tried}"
    return _waiting(awaited) or ("Sends what the last turn decided." if head["effects_open"] else None)


def _waiting(awaited: list[dict[str, Any]]) -> str | None:
    questions = [item["question"] for item in awaited if item["kind"] == "approval"]
    unclear = [item["question"] for item in awaited if item["kind"] == "asked"]
    if questions:
        return f"Waits for an answer: {questions[0]}{_and_more(questions)}"
    if unclear:
        return f"A person has to say how this ended: {unclear[0]}{_and_more(unclear)}"
    return "Waits for a timer." if awaited else None


def _and_more(items: list[str]) -> str:
    return f" (and {len(items) - 1} more)" if len(items) > 1 else ""
