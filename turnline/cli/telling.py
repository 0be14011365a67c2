"""Telling a transcript event in one line, for people. Pure; each type that this version knows has words of its own."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import orjson

Body = Mapping[str, Any]


def told(type_: str, body: Any) -> str:
    """What happened. An unknown type, or a body of another shape, is shown as it is stored."""
    words = WORDS.get(type_, _as_stored)
    try:
        return words(body)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        return _as_stored(body)


def value(anything: Any) -> str:
    """A JSON value, short where it is text."""
    return anything if isinstance(anything, str) else orjson.dumps(anything, default=str).decode()


def bound(binds: Mapping[str, Any]) -> str:
    """What something is bound to: "commit=abc123, row=4"."""
    return ", ".join(f"{name}={value(given)}" for name, given in binds.items())


def event_text(data: Any) -> str:
    """The text of an event's data, or the data."""
    if isinstance(data, Mapping) and isinstance(data.get("text"), str):
        return str(data["text"])
    return value(data)


def _message_in(body: Body) -> str:
    sender = body["sender"] or body["source"]
    type_ = "" if body["type"] == "message" else f" [{body['type']}]"
    return f"{sender}{type_}: {event_text(body['data'])}"


def _message_out(body: Body) -> str:
    return f"→ {body['lane'] or 'transcript only'}: {body['text']}"


def _step(body: Body) -> str:
    return f"{body['key']} = {value(body['result'])}{' (reused)' if body.get('reused') else ''}"


def _patched(body: Body) -> str:
    return "; ".join(_op(op) for op in body["ops"])


def _op(op: Body) -> str:
    name = op["path"].lstrip("/") or "everything"
    return f"{name} removed" if op["op"] == "remove" else f"{name} = {value(op['value'])}"


def _noted(body: Body) -> str:
    parts = []
    if "goal" in body:
        parts.append(f"goal: {body['goal'].get('aim', '')}")
    parts += [f"{label}: {body[name]}" for name, label in (("phase", "phase"), ("plan_next", "next")) if name in body]
    return "; ".join(parts)


def _fact(body: Body) -> str:
    was = f", was {value(body['was'])}" if body.get("was") is not None else ""
    return f"{body['name']} = {value(body['value'])}{was}"


def _opened(body: Body) -> str:
    what = body["question"] or body["kind"]
    held = f" [{bound(body['binds'])}]" if body["binds"] else ""
    return f"{what}{held} then {body['then']}"


def _closed(body: Body) -> str:
    note = f": {body['note']}" if body["note"] else ""
    answer = f" {value(body['answer'])}" if body["status"] == "answered" else ""
    return f"{body['status']}{answer} by {body['by']}{note}"


def _requested(body: Body) -> str:
    held = f" [{bound(body['binds'])}]" if body["binds"] else ""
    then = f" then {body['then']}" if body["then"] else ""
    return f"{body['summary']}{held} on {body['lane']}{then}"


def _outcome(body: Body) -> str:
    error = f": {body['error']}" if body["error"] else ""
    result = f" = {value(body['result'])}" if body.get("result") is not None else ""
    return f"{body['summary'] or body['effect_id']} {body['outcome']}{result}{error}"


def _asked(body: Body) -> str:
    return f"{body['summary'] or body['effect_id']}: nobody knows how it ended; a person has to say"


def _settled(body: Body) -> str:
    return "; ".join(f"{state}{f' ({error})' if error else ''}" for _, state, _, error in body["items"])


def _failed(body: Body) -> str:
    given_up = "given up" if body["dead"] else "to be tried again"
    return f"{body['error']} (attempt {body['attempts']}, {given_up})"


def _turn(body: Body) -> str:
    used = [f"{body['tokens']:,} tokens"] if body["tokens"] else []
    used += [f"cost {body['cost']:g}"] if body["cost"] else []
    again = [f"attempt {body['attempt']}"] if body["attempt"] > 1 else []
    run = ["run open"] if body["run"] else []
    return ", ".join([body["handler"] or "without a handler", f"{body['seconds']:.3f}s", *used, *again, *run])


def _status(body: Body) -> str:
    return f"{body['status']}{': ' + body['reason'] if body['reason'] else ''}"


def _acted(body: Body) -> str:
    return f"{body['action']} by {body['by']}{': ' + body['reason'] if body['reason'] else ''}"


def _cancelled(body: Body) -> str:
    return f"{body['wait_id']} is not awaited any more, by {body['by']}"


def _withdrawn(body: Body) -> str:
    return f"{body['effect_id']}, which was {body['was']}, is not wanted any more"


def _run_closed(body: Body) -> str:
    return f"the run has ended: {body['reason']}"


def _reset(body: Body) -> str:
    return f"epoch {body['epoch']} begins, by {body['by']}"


def _restored(body: Body) -> str:
    at = f" at {body['to_seq']}" if body["to_seq"] else ""
    return f"as {body['of']} was{at}" if body.get("of") else f"as it was{at}"


def _person(body: Body) -> str:
    return f"{body['person']} answers in the agent's place" if body["person"] else "the agent answers again"


def _reason(body: Body) -> str:
    return str(body["reason"])


def _set_aside(body: Body) -> str:
    return f"{body['key']}: {body['reason']}"


def _artifact(body: Body) -> str:
    return f"{body['name']}: {body['size']:,} bytes of {body['media_type']}, {body['digest'][:12]}"


def _dropped(body: Body) -> str:
    return f"{body['name']} let go"


def _workspace(body: Body) -> str:
    return "; ".join([*body["set"], *(f"{path} removed" for path in body["removed"])])


def _as_stored(body: Any) -> str:
    return orjson.dumps(body, default=str).decode()


WORDS: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {
        "message.in": _message_in,
        "message.out": _message_out,
        "step.recorded": _step,
        "step.set_aside": _set_aside,
        "state.patched": _patched,
        "record.noted": _noted,
        "fact.observed": _fact,
        "wait.opened": _opened,
        "wait.closed": _closed,
        "effect.requested": _requested,
        "effects.settled": _settled,
        "outcome.received": _outcome,
        "outcome.asked": _asked,
        "event.unhandled": _reason,
        "turn.failed": _failed,
        "turn.closed": _turn,
        "session.status": _status,
        "artifact.stored": _artifact,
        "artifact.dropped": _dropped,
        "workspace.changed": _workspace,
        "session.reset": _reset,
        "session.restored": _restored,
        "session.person": _person,
        "wait.cancelled": _cancelled,
        "effect.withdrawn": _withdrawn,
        "run.closed": _run_closed,
        "operator.acted": _acted,
        "operator.closed": _acted,
    }
)
