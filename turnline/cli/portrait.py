"""A session in words: the stage that it is at, read from its record, so that no model is needed to tell. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnline.cli.screen import line
from turnline.cli.telling import bound, event_text, value
from turnline.cli.times import ago, span

LINE_CHARS_MAX = 160
QUEUED_SHOWN_MAX = 5
EFFECTS_SHOWN_MAX = 5
FACTS_SHOWN_MAX = 10
STATE_CHARS_MAX = 400
AWAITED = (
    ("approval", "an answer"),
    ("asked", "word of how it ended"),
    ("outcome", "an outcome"),
    ("timer", "a timer"),
)

Said = Iterator[tuple[str, str]]


def portrait(
    session: Mapping[str, Any], effects: Sequence[Mapping[str, Any]], questions: Mapping[str, str], now: float
) -> list[tuple[str, str]]:
    """Pairs of a name and what it says, in the order of reading; a name stands once, before its first line.

    `session` is what `Reads.session` gives, `effects` its open ones, `questions` the texts of closed waits by id.
    """
    record = session["record"]
    pairs: list[tuple[str, str]] = []
    if record is None:
        pairs.append(("stage", "no turn of it has ended yet" if session["attempt"] else "it has not run yet"))
    else:
        pairs += [*_goal(record), *_stage(record), *_approved(record, questions), *_awaited(session, record, now)]
        pairs += [*_run(record), *_seen(record), *_state(record)]
    if session["attempt"]:
        pairs.append(
            ("next turn", f"tried {session['attempt']} times so far: {session['attempt_error'] or 'no error is known'}")
        )
    pairs += [*_queued(session, now), *_effects(effects, session["effects_open"], now), *_totals(session)]
    pairs += [*_lease(session, now)]
    return _named_once(pairs)


def awaits(record: Mapping[str, Any] | None) -> str:
    """What holds a session up, in three words: first what a person has to do. Empty when nothing does."""
    kinds = {item["kind"] for item in record["execution"]["awaited"].values()} if record else set()
    return next((f"awaits {said}" for kind, said in AWAITED if kind in kinds), "")


def _named_once(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    out, before = [], ""
    for name, said in pairs:
        out.append(("" if name == before else name, line(said, LINE_CHARS_MAX)))
        before = name
    return out


def _goal(record: Mapping[str, Any]) -> Said:
    goal = record["goal"]
    if goal.get("aim"):
        yield "goal", goal["aim"]
    for name, label in (("acceptance", "done when"), ("constraints", "within")):
        for item in goal.get(name, ()):
            yield label, str(item)


def _stage(record: Mapping[str, Any]) -> Said:
    execution = record["execution"]
    if execution["phase"]:
        yield "phase", execution["phase"]
    if execution["plan_next"]:
        yield "next", execution["plan_next"]
    if record["reason"]:
        yield "reason", record["reason"]


def _approved(record: Mapping[str, Any], questions: Mapping[str, str]) -> Said:
    for wait_id, approval in record["control"]["approvals"].items():
        asked = questions.get(wait_id) or wait_id
        holds = f", bound to {bound(approval['binds'])}" if approval["binds"] else ""
        voided = f" ({approval['void_by']} has changed)" if approval.get("void_by") else ""
        yield "approvals", f"{approval['status']} by {approval['by']}{holds}{voided}: {asked}"


def _awaited(session: Mapping[str, Any], record: Mapping[str, Any], now: float) -> Said:
    for wait_id, item in record["execution"]["awaited"].items():
        then = f" → {item['then']}"
        match item["kind"]:
            case "approval":
                holds = f" [{bound(item['binds'])}]" if item["binds"] else ""
                ends = f", expires {ago(item['expires_at'], now)}" if item.get("expires_at") else ""
                yield "awaits", f"an answer: {item['question']}{holds}{then}{ends}"
                yield "awaits", f"  turnline approvals answer {wait_id} approve"
            case "timer":
                yield "awaits", f"a timer {ago(item.get('due'), now)}{then}"
            case "asked":
                yield "awaits", f"word of how it ended: {item['question']}{then}"
                yield "awaits", f"  turnline effects mark {wait_id} delivered"
            case _:
                yield "awaits", f"an outcome: {item['question']}{then}"


def _run(record: Mapping[str, Any]) -> Said:
    run = record["execution"]["run"]
    if run:
        used = f"{run['turns']} turns, {run['effects']} effects, {run['tokens']:,} tokens, cost {run['cost']:g}"
        yield "open run", f"{used} so far"


def _seen(record: Mapping[str, Any]) -> Said:
    observation = record["observation"]
    for name, given in list(observation["facts"].items())[:FACTS_SHOWN_MAX]:
        yield "facts", f"{name} = {value(given)}"
    for outcome in observation["outcomes"][-EFFECTS_SHOWN_MAX:]:
        yield "outcomes", f"{outcome['summary'] or outcome['effect_id']}: {outcome['outcome']}"
    for error in observation["errors"]:
        yield "errors", error


def _state(record: Mapping[str, Any]) -> Said:
    if record["state"]:
        yield "state", line(value(record["state"]), STATE_CHARS_MAX)


def _queued(session: Mapping[str, Any], now: float) -> Said:
    rows = session["queued_rows"]
    for row in rows[:QUEUED_SHOWN_MAX]:
        event = row["event"]
        later = f", due {ago(row['due'], now)}" if row["due"] > now else ""
        came = f"{row['kind']} {ago(row['received_at'], now)}{later}"
        yield "queued", f"{came}: {event_text(event.get('data'))}"
    if session["queued"] > QUEUED_SHOWN_MAX:
        yield "queued", f"and {session['queued'] - len(rows[:QUEUED_SHOWN_MAX]):,} more"


def _effects(effects: Sequence[Mapping[str, Any]], holding: int, now: float) -> Said:
    for effect in effects[:EFFECTS_SHOWN_MAX]:
        tried = f", attempt {effect['attempts']}" if effect["attempts"] else ""
        due = f", due {ago(effect['due'], now)}" if effect["due"] and effect["due"] > now else ""
        error = f": {effect['error']}" if effect["error"] else ""
        yield "effects", f"{effect['state']}{tried}{due}, {effect['summary'] or effect['adapter']}{error}"
    if len(effects) > EFFECTS_SHOWN_MAX:
        yield "effects", f"and {max(len(effects), holding) - EFFECTS_SHOWN_MAX:,} more"


def _totals(session: Mapping[str, Any]) -> Said:
    used = f"{session['turns']:,} turns, {session['tokens']:,} tokens, cost {session['cost']:g}"
    yield "totals", f"{used}, {span(session['seconds'])} in handlers, {session['seq']:,} transcript events"


def _lease(session: Mapping[str, Any], now: float) -> Said:
    until = session["lease_until"]
    if session["owner"] and until is not None:
        held = f"held for another {span(until - now)}" if until > now else f"ran out {ago(until, now)}"
        yield "lease", f"{held} by {session['owner']} (fence {session['fence']})"
    else:
        yield "lease", f"free (fence {session['fence']})"
