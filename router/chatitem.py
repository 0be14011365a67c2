"""Chat items: what a person in the web chat sees of a session's transcript. Pure.

A transcript tells more than its chat may show: what the agent learnt, what it told others. Shown is what was said on
the chat's own route or on none, its questions with how they stand, and that a turn was given up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CHANNEL = "webchat"
CAN_CHANGE = frozenset({"pending", "sending", "retry", "unknown"})
GIVEN_UP = "This could not be done. It was set aside for a person to look at."

Item = dict[str, Any]
_DECISIONS = {"approve": "approved", "reject": "rejected"}


@dataclass(frozen=True, slots=True)
class Needed:
    """What must be looked up before events become items: effects by id, and waits by id."""

    effects: tuple[str, ...]
    waits: tuple[str, ...]


def on_this_channel(route: Mapping[str, Any] | None) -> bool:
    """Whether a route leads to the web chat, or nowhere."""
    return route is None or route.get("adapter") == CHANNEL


def needed(events: Sequence[Mapping[str, Any]]) -> Needed:
    """Ids that `items` wants to know about."""
    said = [event["body"] for event in events if event["type"] == "message.out"]
    closed = [event["body"]["wait_id"] for event in events if event["type"] == "wait.closed"]
    return Needed(
        effects=tuple(body["effect_id"] for body in said if body["effect_id"]),
        waits=tuple(dict.fromkeys([*(body["wait_id"] for body in said if "wait_id" in body), *closed])),
    )


def items(
    events: Sequence[Mapping[str, Any]], states: Mapping[str, str], waits: Mapping[str, Mapping[str, Any]], me: str
) -> list[Item]:
    """Transcript events as items, in order. `me` is the name under which this peer's answers are kept."""
    made = (_item(event, states, waits, me) for event in events)
    return [item for item in made if item is not None]


def answer_word(answer: Any) -> Any:
    """An answer as the page knows it: `approved`, `rejected`, or whatever else was said."""
    return _DECISIONS.get(answer, answer) if isinstance(answer, str) else answer


def standing(wait: Mapping[str, Any]) -> Item:
    """How a question stands: its status (open, answered, expired, void, cancelled) and its answer."""
    return {"status": wait["status"], "answer": answer_word(wait["answer"])}


def _item(
    event: Mapping[str, Any], states: Mapping[str, str], waits: Mapping[str, Mapping[str, Any]], me: str
) -> Item | None:
    body = event["body"]
    match event["type"]:
        case "message.in":
            return _received(event, body)
        case "message.out" if body["lane"] in ("", CHANNEL):
            return _said(event, body, states, waits)
        case "wait.closed":
            return _answered(event, body, waits.get(body["wait_id"]), me)
        case "turn.failed" if body["dead"]:
            return {**_framed(event, "notice", f"{event['turn_id']}.failed"), "text": GIVEN_UP}
        case _:
            return None


def _framed(event: Mapping[str, Any], kind: str, item_id: str) -> Item:
    return {"seq": event["seq"], "kind": kind, "id": item_id, "at": event["at"]}


def _received(event: Mapping[str, Any], body: Mapping[str, Any]) -> Item | None:
    data = body["data"]
    text = data.get("text") if isinstance(data, Mapping) else data
    if body["kind"] != "message" or not isinstance(text, str) or not text or not on_this_channel(body["route"]):
        return None
    item = {**_framed(event, "message.in", body["event_id"]), "text": text, "at": body["received_at"]}
    if isinstance(data, Mapping) and isinstance(data.get("client_msg_id"), str):
        item["client_msg_id"] = data["client_msg_id"]
    return item


def _said(
    event: Mapping[str, Any],
    body: Mapping[str, Any],
    states: Mapping[str, str],
    waits: Mapping[str, Mapping[str, Any]],
) -> Item:
    kind = "ask" if "wait_id" in body else "message.out"
    item = {**_framed(event, kind, body["effect_id"] or f"{event['turn_id']}.{event['seq']}"), "text": body["text"]}
    if body["effect_id"]:
        item["effect_id"] = body["effect_id"]
        item["state"] = states.get(body["effect_id"], "pending")
    if kind == "ask":
        wait = waits.get(body["wait_id"])
        item |= {"wait_id": body["wait_id"], "options": body["options"], "binds": body["binds"]}
        item |= standing(wait) if wait is not None else {"status": "void", "answer": None}
    return item


def _answered(
    event: Mapping[str, Any], body: Mapping[str, Any], wait: Mapping[str, Any] | None, me: str
) -> Item | None:
    if wait is None or wait["kind"] != "approval" or not on_this_channel(wait["route"]):
        return None
    expired = body["status"] == "expired"
    item = {
        **_framed(event, "answer", f"{body['wait_id']}.answer"),
        "wait_id": body["wait_id"],
        "status": "expired" if expired else "answered",
        "answer": None if expired else answer_word(body["answer"]),
    }
    if expired:
        item["text"] = "Nobody answered in time"
    if body["by"] == me:
        # The page reads this as "mine"; answers are known by their question, so its id serves.
        item["client_msg_id"] = body["wait_id"]
    return item
