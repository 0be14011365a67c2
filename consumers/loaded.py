"""A session in a worker's memory: a cache of durable rows, valid while its lease is held."""

from dataclasses import dataclass, replace

import orjson

from sessionstore.commit import Committed, TurnCommit
from sessionstore.leases import Held, Journal, Lease, Receipt
from sessionstore.record import Record, new_record
from sessionstore.session import Head


@dataclass(frozen=True, slots=True)
class Loaded:
    """Head and record as of the last commit, receipts that no commit has absorbed, and an unfinished turn's journal."""

    lease: Lease
    head: Head
    record: Record
    receipts: tuple[Receipt, ...]
    journal: Journal | None
    took_over: bool


def loaded_from(held: Held) -> Loaded:
    """From what taking the lease returned."""
    record = orjson.loads(held.record) if held.record else new_record()
    return Loaded(held.lease, held.head, record, held.receipts, held.journal, held.took_over)


def after_commit(loaded: Loaded, turn: TurnCommit, record: Record, result: Committed, now: float) -> Loaded:
    """The session after its turn is durable."""
    head = replace(
        loaded.head,
        version=result.version,
        seq=result.seq,
        status=turn.status,
        run_id=turn.run_id,
        last_turn=turn.turn_id,
        attempt=0,
        attempt_pos=0,
        reply_route=turn.reply_route,
        totals=turn.totals,
        updated_at=now,
    )
    # A command may have overtaken a turn that has recorded steps: that one's journal is still to be used.
    journal = None if turn.journaled else loaded.journal
    return Loaded(loaded.lease, head, record, result.receipts, journal, took_over=False)
