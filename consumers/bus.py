"""The bus: takes events from outside and has them durable before anyone is told so."""

from collections.abc import Sequence
from typing import Protocol
from zlib import crc32

from sessionstore.batcher import Batcher
from sessionstore.inbox import Inbox, NewRow, PutResult

PARTITIONS = 64


class Bus(Protocol):
    """Durable append to `partition(key)`, in order per session."""

    async def publish(self, rows: Sequence[NewRow]) -> list[PutResult]:
        """On return each accepted event is durable; only then may its source be acknowledged. Same order as given."""
        ...

    def partition(self, tenant: str, session: str) -> int:
        """The partition of a session; the same for all its events."""
        ...


class StoreBus:
    """The embedded bus: publishing is the inbox insert itself, there is no second log.

    Concurrent publishers share transactions. Partition numbers are kept for parity with other buses.
    """

    def __init__(self, inbox: Inbox, *, partitions: int = PARTITIONS) -> None:
        self._partitions = partitions
        self._puts: Batcher[NewRow, PutResult] = Batcher(inbox.put)

    async def publish(self, rows: Sequence[NewRow]) -> list[PutResult]:
        """See `Bus.publish`."""
        if len(rows) == 1:
            return [await self._puts.submit(rows[0])]
        futures = [self._puts.enqueue(row) for row in rows]
        return [await future for future in futures]

    def partition(self, tenant: str, session: str) -> int:
        """See `Bus.partition`."""
        return crc32(f"{tenant}\n{session}".encode()) % self._partitions
