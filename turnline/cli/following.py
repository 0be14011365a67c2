"""Following a transcript that another process writes: a look now and then, cheap while nothing happens."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sessionstore.inbox import SessionRef
from sessionstore.reads import Reads

POLL_S = 0.1
PAGE_ROWS_MAX = 200

Pause = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Handled:
    """The turn that handled an event has closed. `replies` are its texts; `error` is set when it failed."""

    turn_id: str
    seq: int
    replies: tuple[str, ...]
    error: str
    run_open: bool


async def last(reads: Reads, ref: SessionRef, n: int) -> tuple[list[dict[str, Any]], int]:
    """The newest `n` events, and the number from which to follow."""
    newest = await reads.newest_seq(ref)
    after = max(0, newest - n)
    rows: list[dict[str, Any]] = []
    while after < newest and (page := await reads.transcript(ref, after=after, limit=PAGE_ROWS_MAX)):
        rows += page
        after = page[-1]["seq"]
    return rows, after


async def follow(
    reads: Reads, ref: SessionRef, after: int, *, pause: Pause = asyncio.sleep
) -> AsyncIterator[list[dict[str, Any]]]:
    """What comes after a number, as it comes, without an end. `pause` passes the time between looks."""
    while True:
        rows = await reads.transcript(ref, after=after, limit=PAGE_ROWS_MAX)
        if rows:
            after = rows[-1]["seq"]
            yield rows
        else:
            await pause(POLL_S)


async def handled(reads: Reads, ref: SessionRef, source: str, event_id: str, after: int) -> Handled:
    """Wait until the turn that handled an event has closed. A commit is one piece, so its rows come together."""
    turn_id, replies, error = "", [], ""
    async for rows in follow(reads, ref, after):
        for row in rows:
            body = row["body"]
            if row["type"] == "message.in" and (body["source"], body["event_id"]) == (source, event_id):
                turn_id = row["turn_id"]
            if not turn_id or row["turn_id"] != turn_id:
                continue
            if row["type"] == "message.out":
                replies.append(body["text"])
            elif row["type"] == "turn.failed":
                error = body["error"]
            elif row["type"] == "turn.closed":
                return Handled(turn_id, row["seq"], tuple(replies), error, body["run"] is not None)
    raise AssertionError("a transcript is followed without an end")
