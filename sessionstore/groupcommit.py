"""Group commit: the same interface as the store's, with concurrent turns gathered into one transaction.

Switch it off by using the store itself. Speed: tests/bench/bench_commit.py.
"""

from collections.abc import Sequence

from sessionstore.batcher import BATCH_MAX, Batcher
from sessionstore.commit import CommitResult, RecordCommit, SessionStore, TurnCommit


class GroupCommit:
    """A `SessionStore` in front of another."""

    def __init__(self, store: SessionStore, *, batch_max: int = BATCH_MAX) -> None:
        self._store = store
        self._turns: Batcher[TurnCommit, CommitResult] = Batcher(store.commit, batch_max=batch_max)
        self._records: Batcher[RecordCommit, bool] = Batcher(store.record, batch_max=batch_max)

    async def commit(self, batch: Sequence[TurnCommit]) -> list[CommitResult]:
        """See `SessionStore.commit`. A session's next turn is only submitted after its last one returned, so that no
        transaction holds two turns of one session."""
        futures = [self._turns.enqueue(turn) for turn in batch]
        return [await future for future in futures]

    async def record(self, batch: Sequence[RecordCommit]) -> list[bool]:
        """See `SessionStore.record`."""
        futures = [self._records.enqueue(item) for item in batch]
        return [await future for future in futures]
