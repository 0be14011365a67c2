"""Closing commits: one transaction each against natural groups, on one SQLite file.

python -m tests.bench.bench_commit
"""

import asyncio
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from sessionstore.clock import SystemClock
from sessionstore.commit import Committed, Entry, SessionStore, TurnCommit
from sessionstore.event import Event
from sessionstore.groupcommit import GroupCommit
from sessionstore.inbox import NewRow, SessionRef
from sessionstore.leases import Held
from sessionstore.record import canonical, checksum, new_record
from sessionstore.session import Status, Totals
from sessionstore.sqlite.store import SqliteStore

SESSIONS = 128
TURNS = 10


async def turns(store: SqliteStore, commits: SessionStore, session: int) -> None:
    """One session's turns, one after the other."""
    ref = SessionRef("default", f"agent:a/bench:{session}")
    event = Event("default", "bench", "", "message", ref.session, "a", {"text": "x" * 200})
    await store.inbox.put([NewRow(replace(event, id=f"{session}-{i}"), b"x") for i in range(TURNS)])
    [held] = await store.leases.acquire([ref], "bench", 60)
    assert isinstance(held, Held)
    rows = await store.inbox.queued(ref, TURNS)
    record = canonical({**new_record(), "state": {"text": "x" * 3_000}})
    for version, row in enumerate(rows):
        turn = TurnCommit(
            lease=held.lease,
            version=version,
            turn_id=f"{session}-{version}",
            members=(row.pos,),
            first_seq=3 * version + 1,
            entries=tuple(Entry("message.in", {"text": "x" * 200}) for _ in range(3)),
            record=record,
            record_sha256=checksum(record),
            status=Status.ACTIVE,
            totals=Totals(),
        )
        [result] = await commits.commit([turn])
        assert isinstance(result, Committed)


async def measure(grouped: bool) -> float:
    """Commits a second."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "bench.sqlite", SystemClock(), group_max=512 if grouped else 1)
        commits = GroupCommit(store.commits) if grouped else store.commits
        began = time.perf_counter()
        await asyncio.gather(*(turns(store, commits, s) for s in range(SESSIONS)))
        took = time.perf_counter() - began
        await store.close()
    return SESSIONS * TURNS / took


async def main() -> None:
    """Print both, in turn, three times."""
    for _ in range(3):
        direct, grouped = await measure(False), await measure(True)
        print(f"direct {direct:7.0f}/s   grouped {grouped:7.0f}/s   ratio {grouped / direct:.1f}")


if __name__ == "__main__":
    asyncio.run(main())
