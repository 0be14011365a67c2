"""What must hold at the end of any simulated life, by the stored rows, the witness's notes and the outside's books.

Each check is a function from what was gathered to sentences about what does not fit; they decide, and read nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import orjson

from outbox.adapter import Idempotency
from sessionstore.effect import TRANSITIONS, EffectState
from sessionstore.wait import Answered
from turnline.testing.evidence import Evidence, Turn, key_of

SLACK_S = 3.0  # between the last look at a fact or a clock and the first byte, with a store that is slow
FINAL = ("delivered", "failed", "expired", "cancelled")


def findings(e: Evidence) -> Iterator[str]:
    """One sentence for each thing that does not fit."""
    for check in (
        _events,
        _members,
        _order,
        _fences,
        _transitions,
        _told_before_sent,
        _once,
        _lanes,
        _truth,
        _intended,
        _outcomes,
        _waits,
        _answers,
        _approvals,
        _slots,
        _states,
        _steps,
    ):
        yield from (f"{check.__name__.strip('_')}: {said}" for said in check(e))


def _events(e: Evidence) -> Iterator[str]:
    """What was acknowledged is stored once and has ended."""
    stored = Counter((row["tenant"], row["source"], row["event_id"]) for row in e.inbox)
    for event in e.ledger.acknowledged:
        if stored[event] != 1:
            yield f"event {event} was acknowledged and is stored {stored[event]} times"
    for event, times in e.ledger.accepted.items():
        if times > 1:
            yield f"event {event} was accepted {times} times"
    for row in e.inbox:
        if row["status"] == "queued":
            yield f"row {row['pos']} of {key_of(row)} ({row['kind']}) is still queued"


def _members(e: Evidence) -> Iterator[str]:
    """Each row, and each place that a redriven one had, is a member of exactly one turn."""
    held = Counter((turn.session, pos) for turn in e.turns for pos in turn.closed["members"])
    places = _places(e)
    for pos, row in places.items():
        wanted = 0 if row["status"] == "dropped" else 1
        if held[key_of(row), pos] != wanted:
            yield f"row {pos} of {key_of(row)} ({row['kind']}, {row['status']}) is in {held[key_of(row), pos]} turns"
    if sum(held.values()) != sum(1 for row in places.values() if row["status"] != "dropped"):
        yield "turns have members that no row stands for"


def _places(e: Evidence) -> dict[int, Mapping[str, Any]]:
    """By position, each row, under its former positions too."""
    places: dict[int, Mapping[str, Any]] = {row["pos"]: row for row in e.inbox}
    moved = [(int(note.key), int(note.more)) for note in e.of("row") if note.was == "dead" and note.now == "queued"]
    for was, now in reversed(moved):
        places[was] = places[now]
    return places


def _order(e: Evidence) -> Iterator[str]:
    """Within a rank, a session's rows run in the order in which they came."""
    places = _places(e)
    lines: dict[tuple[str, int], list[int]] = defaultdict(list)
    for turn in e.turns:
        for pos in turn.closed["members"]:
            if pos in places:
                lines[turn.session, places[pos]["rank"]].append(pos)
    for (session, rank), positions in lines.items():
        if positions != sorted(positions):
            yield f"rows of rank {rank} of {session} ran in the order {positions}"


def _fences(e: Evidence) -> Iterator[str]:
    """Nobody commits under a fence that is not the session's, and versions are dense."""
    for note in (*e.of("commit"), *e.of("record")):
        if note.was != note.now:
            yield f"a {note.what} of {note.key} was taken under {note.was}, while {note.now} held it"
    for note in (*e.of("version"), *e.of("fence")):
        if int(note.now) != int(note.was) + 1:
            yield f"the {note.what} of {note.key} went from {note.was} to {note.now}"
    turns = Counter(turn.session for turn in e.turns)
    for session, version in e.versions.items():
        if turns[session] != version:
            yield f"{session} has version {version} and {turns[session]} turns"


def _transitions(e: Evidence) -> Iterator[str]:
    """Effects move along the arrows of their state machine, inbox rows end once."""
    for note in e.of("effect"):
        if EffectState(note.now) not in TRANSITIONS[EffectState(note.was)]:
            yield f"effect {note.key} went from {note.was} to {note.now}"
    for note in e.of("row"):
        if (note.was, note.now) not in (("queued", "settled"), ("queued", "dead"), ("dead", "queued")):
            yield f"row {note.key} went from {note.was} to {note.now}"


def _told_before_sent(e: Evidence) -> Iterator[str]:
    """The row and the mark of this very attempt are durable before the first byte leaves; facts and time still hold."""
    for d in e.departures:
        if d.row is None:
            yield f"{d.key} was sent by {d.adapter}, and no commit decided on it"
            continue
        if d.row["attempts"] < d.attempt:
            yield f"attempt {d.attempt} of {d.key} left before it was marked ({d.row['state']})"
        if d.row["binds"] and d.row["binds"]["fact"] not in d.looked:
            yield f"{d.key}, bound to {d.row['binds']['fact']}, was sent after looks that showed {list(d.looked)}"
        if d.thawed_at > d.at - 2 * SLACK_S:
            continue  # a process that was stopped cannot have looked at its clock again
        if d.row["binds"] and d.row["binds"]["fact"] != d.fact and d.fact_moved_at < d.at - SLACK_S:
            yield f"{d.key} was sent although the fact had moved at {d.fact_moved_at:.1f}"
        if d.row["expires_at"] is not None and d.wall > d.row["expires_at"] + SLACK_S:
            yield f"{d.key} was sent {d.wall - d.row['expires_at']:.1f} s after it had expired"


def _once(e: Evidence) -> Iterator[str]:
    """Done once where that can be known; where nobody can know, sent once unless somebody was told otherwise."""
    unsure: Counter[str] = Counter()
    for d in e.departures:
        row = e.outbox.get(d.key)
        if row is None or row["possible_duplicate"] or d.key in e.ledger.marked:
            continue
        if d.idempotency is not Idempotency.NATIVE and len(e.deeds.get(d.key, ())) > 1:
            yield f"{d.adapter} did {d.key} {len(e.deeds[d.key])} times"
        if d.idempotency is Idempotency.NONE:
            if unsure[d.key]:
                yield f"{d.adapter} was sent {d.key} again (attempt {d.attempt}), and nobody was told"
            unsure[d.key] += not d.sure


def _lanes(e: Evidence) -> Iterator[str]:
    """What leaves for the first time leaves in the order decided, as long as nobody's claim was taken from him."""
    lanes: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for d in e.departures:
        row = e.outbox.get(d.key)
        robbed = d.row is not None and d.row["state"] != "sending" and d.at - d.disturbed_at < 2 * SLACK_S
        if row is not None and d.key not in e.ledger.resent and not robbed:
            lanes[key_of(row), row["lane"]].setdefault(d.key, row["pos"])
    for lane, first in lanes.items():
        positions = list(first.values())
        if positions != sorted(positions):
            yield f"{lane} left in the order {positions}"


def _truth(e: Evidence) -> Iterator[str]:
    """What the store says of an effect is what happened outside, unless a person said it or it was declared lost."""
    for key, row in e.outbox.items():
        if key in e.ledger.marked or row["possible_duplicate"]:
            continue
        done = key in e.deeds
        if row["state"] == "delivered" and not done:
            yield f"{row['adapter']} {key} is said to be delivered, and was never done"
        if row["state"] in ("failed", "expired", "cancelled") and done and row["on_unknown"] != "drop":
            yield f"{row['adapter']} {key} is said to be {row['state']}, and was done"
        if row["state"] not in FINAL:
            yield f"{row['adapter']} {key} is still {row['state']}"


def _intended(e: Evidence) -> Iterator[str]:
    """The outbox holds exactly what the transcripts say was decided on."""
    said = Counter(
        body["effect_id"]
        for turn in e.turns
        for type_ in ("message.out", "effect.requested")
        for body in turn.bodies(type_)
        if body["effect_id"]
    )
    for key in {**said, **e.outbox}:
        if key not in e.outbox or said[key] != 1:
            stored = "" if key in e.outbox else "not "
            yield f"effect {key} stands {said[key]} times in transcripts, and is {stored}in the outbox"


def _outcomes(e: Evidence) -> Iterator[str]:
    """Who asked for an effect's end is told, once; one that a person sent again may end so again."""
    told = Counter((body["effect_id"], body["outcome"]) for turn in e.turns for body in turn.bodies("outcome.received"))
    retold = Counter(
        (body["effect_id"], body["outcome"])
        for turn in e.turns
        if turn.closed["members"] and _was_redriven(e, turn)
        for body in turn.bodies("outcome.received")
    )
    for key, row in e.outbox.items():
        times = told[key, row["state"]] - retold[key, row["state"]]
        if row["then_name"] and row["state"] in ("delivered", "failed", "expired") and times != 1:
            if times > 1 and key in e.ledger.resent:
                continue
            yield f"the session of {key} was told {times} times that it is {row['state']}"


def _was_redriven(e: Evidence, turn: Turn) -> bool:
    return any(note.was == "dead" and int(note.key) in turn.closed["members"] for note in e.of("row"))


def _waits(e: Evidence) -> Iterator[str]:
    """Questions and timers end once, and not before their time."""
    ends = Counter(note.key for note in e.of("wait"))
    rows = {(row["tenant"], row["event_id"]): row for row in e.inbox if row["source"] == "wait"}
    for wait_id, wait in e.waits.items():
        if ends[wait_id] != 1:
            yield f"{wait['kind']} {wait_id} of {key_of(wait)} ended {ends[wait_id]} times"
        row = rows.get((wait["tenant"], wait_id))
        if row is None:
            yield f"{wait['kind']} {wait_id} of {key_of(wait)} ended, and its session was not told"
        elif wait["kind"] == "timer" and row["received_at"] < wait["due"] - 0.01:
            yield f"timer {wait_id} rang {wait['due'] - row['received_at']:.1f} s early"


def _answers(e: Evidence) -> Iterator[str]:
    """One person's answer counts, and nobody else is told that theirs did."""
    won: dict[str, str] = {}
    for wait_id, by, result in e.ledger.answers:
        if not isinstance(result, Answered):
            continue
        if wait_id in won:
            yield f"{won[wait_id]} and {by} were both told that their answer to {wait_id} counts"
        won[wait_id] = by
        if e.waits[wait_id]["answered_by"] != by:
            yield f"{by} was told that the answer to {wait_id} counts, the store has that of another"


def _approvals(e: Evidence) -> Iterator[str]:
    """What was approved is bound to what it was approved for, and to nothing newer."""
    for key, row in e.outbox.items():
        if row["approval"] and orjson.loads(row["binds"]) != orjson.loads(e.waits[row["approval"]]["binds"]):
            yield f"{key} is bound to {row['binds']}, its approval to {e.waits[row['approval']]['binds']}"


def _slots(e: Evidence) -> Iterator[str]:
    """A slot that fired is one event, and every slot has been decided about."""
    rows = Counter((row["source"], row["event_id"]) for row in e.inbox if row["kind"] == "cron")
    for slot in e.slots:
        wanted = 1 if slot["outcome"] == "fired" else 0
        if rows[f"cron:{slot['job']}", slot["nominal"]] != wanted:
            yield f"slot {slot['nominal']} of {slot['job']} ({slot['outcome']}) has not {wanted} event"
    for a, b in pairwise(e.slots):
        step = 2 if a["job"].endswith("some") else 1
        if a["job"] == b["job"] and (_minute(b) - _minute(a)) != step:
            yield f"{a['job']} went from {a['nominal']} to {b['nominal']}"


def _minute(slot: Mapping[str, Any]) -> int:
    hours, minutes = int(slot["nominal"][11:13]), int(slot["nominal"][14:16])
    return 60 * hours + minutes


def _states(e: Evidence) -> Iterator[str]:
    """What the handlers saw is in the state once, in the order of the turns that closed well."""
    wanted: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for turn in e.turns:
        if turn.failed or not turn.closed["handler"]:
            continue
        book = wanted[turn.session]
        for body in turn.bodies("message.in"):
            book["seen"].append(f"{body['source']}/{body['event_id']}")
        for body in turn.bodies("outcome.received"):
            book["outcomes"].append(f"{body['effect_id']}:{body['outcome']}")
        for body in turn.bodies("wait.closed"):
            kind = e.waits[body["wait_id"]]["kind"]
            book["fired" if kind == "timer" else "decisions"].append(body["wait_id"])
    for session, state in e.states.items():
        for name, value in state.items():
            got = [item.split(":")[0] for item in value] if name == "decisions" else value
            if got != wanted[session][name]:
                yield f"{session} has {name} {got}, its transcript tells {wanted[session][name]}"


def _steps(e: Evidence) -> Iterator[str]:
    """A step's recorded result is not asked for again."""
    for note in e.of("step"):
        if note.was and note.was != note.now:
            yield f"step {note.key} had the recorded result {note.was} and was run again for {note.now}"
