"""What a session's record was at an earlier checkpoint: folded, and held against the checksum that was written then."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

from sessionstore.digest import CLOSING
from sessionstore.errors import BadInput, Damaged, NotFound
from sessionstore.inbox import SessionRef
from sessionstore.reads import Reads
from sessionstore.record import Record, canonical, checksum, new_record
from sessionstore.reducer import fold

PAGE_ROWS_MAX = 500


@dataclass(frozen=True, slots=True)
class Point:
    """A checkpoint: the record after transcript event `seq`, which closed a turn or an operator's action."""

    seq: int
    epoch: int
    at: float
    record: Record


async def point_at(reads: Reads, ref: SessionRef, seq: int) -> Point:
    """The checkpoint at `seq`. Reads only.

    Raises BadInput where no turn ended there, NotFound past the end, Damaged where the checksum does not fit.
    """
    if seq < 1 or seq > await reads.newest_seq(ref):
        raise NotFound(f"{ref.session} has no event {seq}", hint="`GET /v1/sessions/{key}/checkpoints` lists them")
    start, record = await _begin(reads, ref, seq)
    last: dict[str, Any] | None = None
    expected = start + 1
    async for row in events_after(reads, ref, start):
        if row["seq"] > seq:
            break
        if row["seq"] != expected:
            raise Damaged(f"event {expected} of {ref.session} is missing", hint="run `turnline verify`")
        record, last, expected = fold(record, row["type"], row["body"]), row, expected + 1
    if last is None:
        checkpoint = await reads.transcript(ref, after=seq - 1, limit=1)
        last = checkpoint[0] if checkpoint and checkpoint[0]["seq"] == seq else None
    if last is None or last["seq"] != seq or last["type"] not in CLOSING:
        raise BadInput(f"no turn ended at event {seq}", hint="`GET /v1/sessions/{key}/checkpoints` lists where one did")
    if checksum(canonical(record)) != last["body"]["sha256"]:
        raise Damaged(f"the checkpoint at {seq} of {ref.session} fails its checksum", hint="run `turnline verify`")
    return Point(seq, last["epoch"], last["at"], record)


async def newest_valid(reads: Reads, ref: SessionRef) -> Point:
    """The newest checkpoint whose checksum holds. Raises Damaged when none does."""
    seqs = [row["seq"] async for row in events_after(reads, ref, 0) if row["type"] in CLOSING]
    for seq in reversed(seqs):
        try:
            return await point_at(reads, ref, seq)
        except (Damaged, KeyError, TypeError, ValueError):
            continue
    raise Damaged(f"no checkpoint of {ref.session} is valid", hint="run `turnline verify`, and restore a backup")


async def events_after(reads: Reads, ref: SessionRef, after: int) -> AsyncIterator[dict[str, Any]]:
    """Transcript events after a number, in order, page by page."""
    while True:
        page = await reads.transcript(ref, after=after, limit=PAGE_ROWS_MAX)
        for row in page:
            yield row
        if len(page) < PAGE_ROWS_MAX:
            return
        after = page[-1]["seq"]


async def _begin(reads: Reads, ref: SessionRef, seq: int) -> tuple[int, Record]:
    """From the newest full checkpoint up to `seq`, where its own checksum holds; else from the beginning."""
    found = await reads.checkpoint(ref, seq)
    if found is not None and checksum(bytes(found[1])) == found[2]:
        record: Record = orjson.loads(found[1])
        return found[0], record
    return 0, new_record()
