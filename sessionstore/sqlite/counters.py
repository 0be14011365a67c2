"""Counters of what was accepted and intended, added up per transaction."""

from sessionstore.sqlite.database import Transaction

HOUR_S = 3600


class Tally:
    """Collects counts of one operation; `flush` writes one row per tenant, name and hour."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, int], int] = {}

    def add(self, tenant: str, name: str, at: float, n: int = 1) -> None:
        """Count `n` more under the hour of `at` (unix seconds)."""
        key = (tenant, name, int(at) // HOUR_S)
        self._counts[key] = self._counts.get(key, 0) + n

    def flush(self, tx: Transaction) -> None:
        """Write what was counted, in the transaction that did it."""
        for (tenant, name, hour), n in self._counts.items():
            tx.run("counter_add", (tenant, name, hour, "", n))
