"""The reducer: `record == fold(transcript)`, pure, so that anyone can check it on live data.

Each transcript type that changes the record has one small function here; types that tell and change nothing
(a message, a recorded step) have none. Functions copy the sections that they change and leave the rest shared.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from sessionstore import patch
from sessionstore.errors import Damaged
from sessionstore.record import APPROVALS_MAX, ERRORS_MAX, OUTCOMES_MAX, Record, new_record

Body = Mapping[str, Any]
Fold = Callable[[Record, Body], Record]


def fold(record: Record, type_: str, body: Body) -> Record:
    """The record after one transcript event; the given record is not changed."""
    step = _FOLDS.get(type_)
    if step is not None:
        return step(record, body)
    if type_ in TELLING:
        return record
    raise Damaged(
        f"the transcript holds an event of unknown type {type_!r}",
        hint="it was written by a newer version; run that version",
    )


def fold_all(record: Record, entries: Iterable[tuple[str, Body]]) -> Record:
    """The record after several events."""
    for type_, body in entries:
        record = fold(record, type_, body)
    return record


def _with(record: Record, section: str, **changes: Any) -> Record:
    return {**record, section: {**record[section], **changes}}


def _state_patched(record: Record, body: Body) -> Record:
    return {**record, "state": patch.apply(record["state"], body["ops"])}


def _noted(record: Record, body: Body) -> Record:
    if "goal" in body:
        record = {**record, "goal": body["goal"]}
    changes = {name: body[name] for name in ("phase", "plan_next") if name in body}
    return _with(record, "execution", **changes) if changes else record


def _fact_observed(record: Record, body: Body) -> Record:
    name, value = body["name"], body["value"]
    facts = {**record["observation"]["facts"], name: value}
    record = _with(record, "observation", facts=facts)
    approvals = record["control"]["approvals"]
    moved = {
        wait_id: {**approval, "status": "void", "void_by": name}
        for wait_id, approval in approvals.items()
        if approval["status"] == "approved"
        and name in approval["binds"]
        and not patch.same(approval["binds"][name], value)
    }
    return _with(record, "control", approvals={**approvals, **moved}) if moved else record


def _wait_opened(record: Record, body: Body) -> Record:
    item = {k: body[k] for k in ("kind", "then", "question", "binds", "expires_at", "due")}
    if "again_of" in body:
        item["again_of"] = body["again_of"]
    awaited = {**record["execution"]["awaited"], body["wait_id"]: item}
    return _with(record, "execution", awaited=awaited)


def _wait_closed(record: Record, body: Body) -> Record:
    wait_id = body["wait_id"]
    awaited = dict(record["execution"]["awaited"])
    was = awaited.pop(wait_id, None)
    record = _with(record, "execution", awaited=awaited)
    if was is None or was["kind"] != "approval":
        return record
    approval = {"status": body["status"], "by": body["by"], "binds": was["binds"]}
    if "again_of" in was:
        approval["again_of"] = was["again_of"]
    approvals = {**record["control"]["approvals"], wait_id: approval}
    while len(approvals) > APPROVALS_MAX:
        del approvals[next(iter(approvals))]
    return _with(record, "control", approvals=approvals)


def _effect_requested(record: Record, body: Body) -> Record:
    if not body["then"]:
        return record
    item = {"kind": "outcome", "then": body["then"], "question": body["summary"], "binds": {}}
    awaited = {**record["execution"]["awaited"], body["effect_id"]: item}
    return _with(record, "execution", awaited=awaited)


def _outcome_received(record: Record, body: Body) -> Record:
    awaited = dict(record["execution"]["awaited"])
    awaited.pop(body["effect_id"], None)
    record = _with(record, "execution", awaited=awaited)
    outcome = {k: body[k] for k in ("effect_id", "outcome", "summary")}
    outcomes = [*record["observation"]["outcomes"], outcome][-OUTCOMES_MAX:]
    record = _with(record, "observation", outcomes=outcomes)
    return _error(record, body["error"]) if body["error"] else record


def _outcome_asked(record: Record, body: Body) -> Record:
    """A person has to say how it ended: it is still awaited, but holds its run open no longer."""
    awaited = record["execution"]["awaited"]
    item = awaited.get(body["effect_id"])
    if item is None:
        return record
    asked = {**awaited, body["effect_id"]: {**item, "kind": "asked"}}
    return _with(record, "execution", awaited=asked)


def _turn_failed(record: Record, body: Body) -> Record:
    return _error(record, body["error"])


def _error(record: Record, error: str) -> Record:
    errors = [*record["observation"]["errors"], error][-ERRORS_MAX:]
    return _with(record, "observation", errors=errors)


def _turn_closed(record: Record, body: Body) -> Record:
    version = {**record["version"], "agent": body["agent_version"], "turn": body["turn_id"]}
    record = _with(record, "execution", run=body["run"])
    return {**record, "version": version}


def _artifact_stored(record: Record, body: Body) -> Record:
    item = {k: body[k] for k in ("digest", "size", "media_type")}
    return _with(record, "artifacts", refs={**record["artifacts"].get("refs", {}), body["name"]: item})


def _artifact_dropped(record: Record, body: Body) -> Record:
    refs = {name: item for name, item in record["artifacts"]["refs"].items() if name != body["name"]}
    return _with(record, "artifacts", refs=refs)


def _workspace_changed(record: Record, body: Body) -> Record:
    gone = frozenset(body["removed"])
    kept = {path: item for path, item in record["artifacts"].get("workspace", {}).items() if path not in gone}
    return _with(record, "artifacts", workspace={**kept, **body["set"]})


def _wait_cancelled(record: Record, body: Body) -> Record:
    return _unawaited(record, body["wait_id"])


def _effect_withdrawn(record: Record, body: Body) -> Record:
    return _unawaited(record, body["effect_id"])


def _unawaited(record: Record, awaited_id: str) -> Record:
    awaited = record["execution"]["awaited"]
    if awaited_id not in awaited:
        return record
    return _with(record, "execution", awaited={k: v for k, v in awaited.items() if k != awaited_id})


def _run_closed(record: Record, body: Body) -> Record:
    return _with(record, "execution", run=None)


def _session_reset(record: Record, body: Body) -> Record:
    """A new epoch begins with nothing; what the old one knew stays in the transcript."""
    return new_record()


def _session_restored(record: Record, body: Body) -> Record:
    """The event carries the record, so that it holds whatever retention removes before it."""
    restored: Record = body["record"]
    return restored


def _session_person(record: Record, body: Body) -> Record:
    return _with(record, "control", person=body["person"])


def _status(record: Record, body: Body) -> Record:
    if "before" in body:
        record = _with(record, "control", paused_from=body["before"])
    return {**record, "status": body["status"], "reason": body["reason"]}


TELLING: Final = frozenset(
    {
        "message.in",
        "message.out",
        "step.recorded",
        "step.set_aside",
        "effects.settled",
        "event.unhandled",
        "event.late",
        "route.changed",
        "recovery.decided",
        "operator.acted",
        "operator.closed",
    }
)

_FOLDS: Final[Mapping[str, Fold]] = MappingProxyType(
    {
        "state.patched": _state_patched,
        "record.noted": _noted,
        "fact.observed": _fact_observed,
        "wait.opened": _wait_opened,
        "wait.closed": _wait_closed,
        "effect.requested": _effect_requested,
        "outcome.received": _outcome_received,
        "outcome.asked": _outcome_asked,
        "turn.failed": _turn_failed,
        "turn.closed": _turn_closed,
        "session.status": _status,
        "artifact.stored": _artifact_stored,
        "artifact.dropped": _artifact_dropped,
        "workspace.changed": _workspace_changed,
        "wait.cancelled": _wait_cancelled,
        "effect.withdrawn": _effect_withdrawn,
        "run.closed": _run_closed,
        "session.reset": _session_reset,
        "session.restored": _session_restored,
        "session.person": _session_person,
    }
)

TYPES: Final = frozenset(_FOLDS) | TELLING
