"""Collect: several messages become one turn, after a quiet moment and within a bound. Pure.

The window is measured from the durable times of arrival, so a restart inside it does not begin it anew.
"""

from collections.abc import Iterable, Sequence

from consumers.agent import QueuePolicy
from sessionstore.inbox import InboxRow


def collected(rows: Iterable[InboxRow], first: InboxRow, policy: QueuePolicy) -> list[InboxRow]:
    """From `first` on, in order: the messages of one turn. A row of another kind or type ends the batch."""
    batch: list[InboxRow] = []
    for row in sorted((r for r in rows if r.pos >= first.pos), key=lambda r: r.pos):
        if row.event.kind != first.event.kind or row.event.type != first.event.type or len(batch) >= policy.batch_max:
            break
        batch.append(row)
    return batch


def quiet_in(batch: Sequence[InboxRow], policy: QueuePolicy, now: float) -> float:
    """Seconds until the batch may run; 0 or less: now. A full batch does not wait."""
    if len(batch) >= policy.batch_max:
        return 0.0
    quiet = batch[-1].received_at + policy.quiet_s
    return min(quiet, batch[0].received_at + policy.wait_max_s) - now
