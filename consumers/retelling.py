"""Retelling: a stretch of transcript as the turns that it tells of: what came in, what was decided. Pure.

Turns are gathered by what set them off. A message, an answer or a timer begins a *chapter*; the outcomes of what was
asked for in it belong to it, however late they came. So two lives that were given the same inputs can be compared
chapter by chapter, even where one of them asked for more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sessionstore.digest import CLOSING
from sessionstore.record import Record
from sessionstore.reducer import fold

Body = Mapping[str, Any]

ARRIVALS = ("message.in", "wait.closed", "outcome.received", "outcome.asked")
BREAKS = ("session.reset", "session.restored")


@dataclass(frozen=True, slots=True)
class Decision:
    """One thing that was decided: its kind (reply, call, ask, timer, note, status, failure) and what it says."""

    kind: str
    text: str
    detail: Any = None


@dataclass(frozen=True, slots=True)
class Told:
    """One turn, or one operator's action, as the transcript tells it; `record` is the one after it."""

    seq: int
    at: float
    epoch: int
    turn_id: str
    handler: str
    entries: tuple[tuple[str, Body], ...]
    record: Record

    @property
    def arrivals(self) -> tuple[tuple[str, Body], ...]:
        """What came in."""
        return tuple(entry for entry in self.entries if entry[0] in ARRIVALS)

    @property
    def operated(self) -> str:
        """The operator's action that this is; empty for a turn."""
        return next((str(body["action"]) for type_, body in self.entries if type_ == "operator.acted"), "")

    @property
    def broken_off(self) -> bool:
        """Whether what came before does not lead to what comes after: a reset, a rewind."""
        return any(type_ in BREAKS for type_, _ in self.entries)

    def steps(self) -> Iterator[Body]:
        """The results that were recorded."""
        return (body for type_, body in self.entries if type_ == "step.recorded")

    def requests(self) -> Iterator[Body]:
        """The effects that were asked for."""
        return (body for type_, body in self.entries if type_ == "effect.requested")

    def waits(self) -> Iterator[Body]:
        """The questions and timers that were opened."""
        return (body for type_, body in self.entries if type_ == "wait.opened")

    def decisions(self) -> list[Decision]:
        """What was decided, in order."""
        return list(decisions(self.entries))


def told_turns(record: Record, rows: Iterable[Mapping[str, Any]]) -> Iterator[Told]:
    """The turns in transcript rows, in order; `record` is the one before them. A turn without its end is left out."""
    entries: list[tuple[str, Body]] = []
    for row in rows:
        record = fold(record, row["type"], row["body"])
        entries.append((row["type"], row["body"]))
        if row["type"] in CLOSING:
            handler = str(row["body"].get("handler", ""))
            yield Told(row["seq"], row["at"], row["epoch"], row["turn_id"], handler, tuple(entries), record)
            entries = []


def decisions(entries: Iterable[tuple[str, Body]]) -> Iterator[Decision]:
    """The decisions among transcript entries. Ids are left out: they differ from life to life."""
    for type_, body in entries:
        match type_:
            case "message.out":
                if "wait_id" not in body:
                    yield Decision("reply", body["text"], {"lane": body["lane"]})
            case "effect.requested":
                detail = {name: body[name] for name in ("adapter", "lane", "body", "then", "binds")}
                if body["summary"]:
                    yield Decision("call", body["summary"], detail)
            case "wait.opened":
                detail = {name: body[name] for name in ("then", "options", "binds")}
                kind = "ask" if body["kind"] == "approval" else "timer"
                yield Decision(kind, body["question"] or body["then"], detail)
            case "record.noted":
                yield Decision("note", "; ".join(f"{name}: {said}" for name, said in body.items()))
            case "session.status":
                yield Decision("status", body["status"], {"reason": body["reason"]})
            case "turn.failed":
                yield Decision("failure", body["error"])
            case "event.unhandled":
                yield Decision("unhandled", body["reason"])
            case _:
                continue


@dataclass(slots=True)
class Chapters:
    """Decisions by what set them off. `begin` opens the next chapter; outcomes go to the one that asked for them."""

    texts: list[str] = field(default_factory=list)
    contents: list[list[Decision]] = field(default_factory=list)
    _of: dict[str, int] = field(default_factory=dict)

    def begin(self, text: str) -> int:
        """A new chapter; returns its number."""
        self.texts.append(text)
        self.contents.append([])
        return len(self.texts) - 1

    def of(self, effect_id: str) -> int:
        """The chapter in which an effect was asked for; the newest where that is not known."""
        return self._of.get(effect_id, len(self.texts) - 1)

    def add(self, chapter: int, told: Sequence[tuple[str, Body]]) -> None:
        """Write a turn's decisions into a chapter."""
        self.contents[chapter].extend(decisions(told))
        for type_, body in told:
            if type_ == "effect.requested":
                self._of[body["effect_id"]] = chapter


def said(type_: str, body: Body) -> str:
    """What came in, in a few words."""
    match type_:
        case "message.in":
            data = body["data"]
            text = data.get("text") if isinstance(data, Mapping) else data
            return str(text if isinstance(text, str) and text else body["type"])
        case "wait.closed":
            return f"{body['status']} by {body['by']}"
        case _:
            return f"{body['summary'] or body['effect_id']} {body.get('outcome', 'asked')}"


def same_request(one: Body, other: Body) -> bool:
    """Whether two requests ask for the same: then the outcome of one may stand for that of the other."""
    return all(one[name] == other[name] for name in ("adapter", "lane", "then", "body"))


def same_wait(one: Body, other: Body) -> bool:
    """Whether two waits are for the same: an answer to one may be given to the other."""
    return all(one[name] == other[name] for name in ("kind", "then", "question", "options"))
