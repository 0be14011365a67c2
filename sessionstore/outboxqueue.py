"""The outbox as a queue: claims of lane heads, the durable `sending` mark, and settlements."""

from collections.abc import Collection, Sequence
from typing import Protocol

from sessionstore.effect import Claimed, Settlement


class OutboxQueue(Protocol):
    """Rows leave in order per lane; every write about a row is guarded by its claim."""

    async def claim(self, adapters: Collection[str], limit: int, ttl_s: float) -> list[Claimed]:
        """Take due heads of lanes, at most one a lane, of the adapters that the caller has.

        A row comes back already marked `sending`, durably, unless it has binds or has expired: such a one is only
        claimed, and must be marked after its facts were looked at, or settled. A row whose claim ran out while
        `sending` becomes `unknown` instead, and is not returned here.
        """
        ...

    async def mark(self, claims: Sequence[Claimed]) -> list[bool]:
        """Make `sending` durable; False where the claim is no longer ours."""
        ...

    async def settle(self, settlements: Sequence[Settlement]) -> list[bool]:
        """Write the ends; durable on return. False where the claim is no longer ours: then nothing was written."""
        ...

    async def started(self, claim: Claimed, external_id: str) -> bool:
        """Make the other side's id durable while the call still runs."""
        ...

    async def renew(self, claims: Sequence[Claimed], ttl_s: float) -> list[bool]:
        """Lengthen claims of running calls; False where one is lost."""
        ...

    async def claim_unknown(self, adapters: Collection[str], limit: int, ttl_s: float) -> list[Claimed]:
        """Take unknown rows that are due to be looked at."""
        ...

    async def next_due(self) -> float | None:
        """When the next row is due to be sent or looked at (unix seconds)."""
        ...
