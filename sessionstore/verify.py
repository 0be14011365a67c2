"""Verify: `record == fold(transcript)` on live data, and the first event that does not fit, by number.

Each session's transcript is folded from the beginning, or from the oldest kept full checkpoint where retention took the
beginning away. Every `turn.closed` event holds the SHA-256 of the record after its turn and one over the turn's events,
so a difference is pinned to one turn; snapshots and the stored record are compared in the same pass. A session may
commit meanwhile: the record is read first, and only the events up to its number are folded.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from sessionstore.digest import CLOSING, TurnDigest
from sessionstore.errors import Damaged
from sessionstore.inbox import SessionRef
from sessionstore.reads import Reads
from sessionstore.record import Record, canonical, checksum, new_record
from sessionstore.reducer import TYPES, fold
from sessionstore.rollcall import every_session

PAGE_ROWS_MAX = 200


class What(StrEnum):
    """In which way something differs."""

    GAP = "gap"  # a number is missing
    UNKNOWN_TYPE = "unknown_type"  # written by a newer version, or not by us
    MISFIT = "misfit"  # the event cannot be applied to what came before
    TURN = "turn"  # the event stands among those of another turn
    CHECKSUM = "checksum"  # the record after the turn is not the one that was written
    RECORD = "record"  # the stored record
    CHECKPOINT = "checkpoint"  # a stored snapshot
    HEAD = "head"  # the session's newest number


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that differs: at which event of which turn, and in one sentence how."""

    what: What
    seq: int
    type: str
    turn_id: str
    says: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """One session: events folded after number `start`, turns checked, and the differences, first event first."""

    ref: SessionRef
    seq: int
    start: int
    events: int
    turns: int
    differences: tuple[Difference, ...]

    @property
    def agrees(self) -> bool:
        """Whether everything fits."""
        return not self.differences


async def verify_all(reads: Reads, tenant: str | None) -> AsyncIterator[Verdict]:
    """Every session of a tenant, or of all, one after the other. Reads only; memory is bounded by one page."""
    async for head in every_session(reads, tenant):
        yield await verify_session(reads, SessionRef(head["tenant"], head["session"]))


async def verify_session(reads: Reads, ref: SessionRef, *, page_rows_max: int = PAGE_ROWS_MAX) -> Verdict:
    """One session; an unknown one has nothing to differ in. Reads only."""
    stored = _in_bytes(await reads.record(ref))
    seq = stored[0] if stored else 0
    snapshots = [snapshot async for snapshot in _snapshots(reads, ref, seq)]
    folding = await _begun(reads, ref, {snapshot.seq: snapshot for snapshot in snapshots})
    try:
        async for row in _rows(reads, ref, folding.start, seq, page_rows_max):
            folding.take(row)
        folding.end(seq)
        folding.compare(What.RECORD, "the stored record", seq, stored[1] if stored else canonical(new_record()))
    except _Found as found:
        folding.differences.append(found.difference)
    differences = [*folding.differences, *_own_checksums(stored, snapshots), *await _beyond(reads, ref, seq)]
    return Verdict(ref, seq, folding.start, folding.events, folding.turns, tuple(differences))


class _Found(Exception):
    """The fold ends here: after the first difference the rest says nothing."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.says)
        self.difference = difference


@dataclass(frozen=True, slots=True)
class _Snapshot:
    seq: int
    sha256: str  # of its body
    checksum: str  # as stored beside it


@dataclass(slots=True)
class _Folding:
    start: int
    record: Record
    snapshots: Mapping[int, _Snapshot]
    seq: int = 0
    events: int = 0
    turns: int = 0
    turn_id: str = ""  # of the rows since the last closed turn
    turn_began: int = 0
    digest: TurnDigest = field(default_factory=TurnDigest)
    differences: list[Difference] = field(default_factory=list)

    def take(self, row: Mapping[str, Any]) -> None:
        """Fold one event. Raises _Found at the first that does not fit."""
        seq, type_, turn_id = row["seq"], row["type"], row["turn_id"]
        if seq != self.seq + 1:
            raise _Found(_missing(self.seq + 1, seq - 1))
        self._in_turn(seq, type_, turn_id)
        if type_ not in TYPES:
            says = (
                f"event {seq} is of the unknown type {type_!r}: it was written by a newer version, or not by this one"
            )
            raise _Found(Difference(What.UNKNOWN_TYPE, seq, type_, turn_id, says))
        try:
            self.record = fold(self.record, type_, row["body"])
        except (Damaged, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            says = f"event {seq} ({type_}) does not fit what came before it: {_said(error)}"
            raise _Found(Difference(What.MISFIT, seq, type_, turn_id, says)) from error
        self.seq, self.events = seq, self.events + 1
        if type_ in CLOSING:
            self._close(row)
        else:
            self.digest.add(type_, orjson.dumps(row["body"]))

    def end(self, seq: int) -> None:
        """All events up to `seq` were there, and the last turn was closed."""
        if self.seq != seq:
            raise _Found(_missing(self.seq + 1, seq))
        if self.turn_id:
            says = f"the transcript ends at {seq} inside turn {self.turn_id}, without its closing event"
            raise _Found(Difference(What.TURN, seq, "", self.turn_id, says))

    def compare(self, what: What, name: str, seq: int, body: bytes) -> None:
        """The folded record against a stored one."""
        if canonical(self.record) == body:
            return
        says = f"{name} at {seq} is not what its transcript folds to; it differs in {_sections(self.record, body)}"
        self.differences.append(Difference(what, seq, "", "", says))

    def _in_turn(self, seq: int, type_: str, turn_id: str) -> None:
        if not turn_id:
            return
        if self.turn_id and turn_id != self.turn_id:
            says = f"event {seq} ({type_}) belongs to turn {turn_id}, but stands among the events of {self.turn_id}"
            raise _Found(Difference(What.TURN, seq, type_, turn_id, says))
        if not self.turn_id:
            self.turn_id, self.turn_began = turn_id, seq

    def _close(self, row: Mapping[str, Any]) -> None:
        seq, turn_id, body = row["seq"], row["turn_id"], row["body"]
        digest = checksum(canonical(self.record))
        self.digest.add_closing(body, row["type"])
        told, self.digest = self.digest.hexdigest(), TurnDigest()
        fits = body.get("sha256") == digest and body.get("entries_sha256", told) == told
        if body.get("turn_id") != turn_id or not fits:
            says = (
                f"an event of turn {turn_id}, {self.turn_began} to {seq}, is not what was written: the checksum differs"
            )
            raise _Found(Difference(What.CHECKSUM, seq, row["type"], turn_id, says))
        self.turns += 1
        self.turn_id = ""
        snapshot = self.snapshots.get(seq)
        if snapshot is not None and snapshot.sha256 != digest:
            says = f"the checkpoint at {seq} is not what its transcript folds to"
            self.differences.append(Difference(What.CHECKPOINT, seq, row["type"], turn_id, says))


async def _begun(reads: Reads, ref: SessionRef, snapshots: Mapping[int, _Snapshot]) -> _Folding:
    """From nothing, or from the checkpoint right before the oldest kept event."""
    try:
        first = await reads.transcript(ref, limit=1)
    except ValueError:
        first = []
    start = first[0]["seq"] - 1 if first else 0
    if start in snapshots:
        kept = _in_bytes(await reads.checkpoint(ref, start))
        if kept is not None and kept[0] == start and checksum(kept[1]) == kept[2]:
            return _Folding(start, orjson.loads(kept[1]), snapshots, seq=start)
    return _Folding(0, new_record(), snapshots)


async def _rows(
    reads: Reads, ref: SessionRef, after: int, last: int, page_rows_max: int
) -> AsyncIterator[Mapping[str, Any]]:
    limit = page_rows_max
    while after < last:
        try:
            page = await reads.transcript(ref, after=after, limit=limit)
        except ValueError as error:
            if limit == 1:
                says = f"event {after + 1} or the one after a gap behind it holds no JSON"
                raise _Found(Difference(What.MISFIT, after + 1, "", "", says)) from error
            limit = 1  # one by one, to name it
            continue
        for row in page:
            if row["seq"] > last:
                return
            yield row
            after = row["seq"]
        if len(page) < limit:
            return


async def _snapshots(reads: Reads, ref: SessionRef, seq: int) -> AsyncIterator[_Snapshot]:
    while seq > 0 and (found := _in_bytes(await reads.checkpoint(ref, seq))) is not None:
        yield _Snapshot(found[0], checksum(found[1]), found[2])
        seq = found[0] - 1


def _own_checksums(stored: tuple[int, bytes, str] | None, snapshots: list[_Snapshot]) -> list[Difference]:
    """What is stored beside its own checksum must fit it, whatever the transcript says."""
    out = []
    if stored is not None and checksum(stored[1]) != stored[2]:
        out.append(Difference(What.RECORD, stored[0], "", "", f"the record at {stored[0]} does not fit its checksum"))
    for snapshot in reversed(snapshots):
        if snapshot.sha256 != snapshot.checksum:
            says = f"the checkpoint at {snapshot.seq} does not fit its checksum"
            out.append(Difference(What.CHECKPOINT, snapshot.seq, "", "", says))
    return out


async def _beyond(reads: Reads, ref: SessionRef, seq: int) -> list[Difference]:
    """Nothing may stand past the record: head, transcript and record move in one transaction.

    Each is read after the one that it is compared with, so a commit in between can only make the later one newer.
    """
    newest = await reads.newest_seq(ref)
    again = await reads.record(ref)
    now = again[0] if again else 0
    if newest < seq or now < newest:
        says = f"the session says that it ends at {newest}, its record is of {seq}"
        return [Difference(What.HEAD, max(newest, seq), "", "", says)]
    try:
        rows = await reads.transcript(ref, after=now, limit=1)
    except ValueError:
        rows = [{"seq": now + 1, "type": "", "turn_id": ""}]
    if rows and await reads.newest_seq(ref) < rows[0]["seq"]:
        row = rows[0]
        says = f"event {row['seq']} stands past the end of its session at {now}"
        return [Difference(What.HEAD, row["seq"], row["type"], row["turn_id"], says)]
    return []


def _in_bytes(found: tuple[int, bytes | str, str] | None) -> tuple[int, bytes, str] | None:
    """What was edited with a database shell comes back as text."""
    if found is None:
        return None
    seq, body, sha256 = found
    return seq, (body.encode() if isinstance(body, str) else body), sha256


def _missing(first: int, last: int) -> Difference:
    says = f"event {first} is missing" if first == last else f"events {first} to {last} are missing"
    return Difference(What.GAP, first, "", "", says)


def _sections(record: Record, body: bytes) -> str:
    """The record's sections in which two spellings differ."""
    try:
        other = orjson.loads(body)
    except ValueError:
        return "all of it: it is not JSON"
    if not isinstance(other, dict):
        return "all of it: it is not a record"
    names = [name for name in {**record, **other} if _part(record, name) != _part(other, name)]
    return ", ".join(sorted(names)) or "its spelling alone"


def _part(record: Record, name: str) -> bytes:
    """One section in its one spelling, so that 1 and 1.0 and true differ."""
    return canonical({"": record.get(name)})


def _said(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)
