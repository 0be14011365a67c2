"""A courier: a relay in the same process, which takes effects straight from the commit that decided on them."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from sessionstore.commit import HandOver
from sessionstore.effect import Claimed, Effect


class Courier(Protocol):
    """What a worker needs of a relay beside it."""

    def hand_over(self, effects: Sequence[Effect]) -> HandOver | None:
        """Which of these a commit may claim for it; None for none."""
        ...

    def take(self, claims: Iterable[Claimed]) -> None:
        """Carry these out; they are durable and marked `sending`."""
        ...


class NoCourier:
    """No relay here: effects are found in the outbox by whoever looks."""

    def hand_over(self, effects: Sequence[Effect]) -> HandOver | None:
        """Nothing is claimed."""
        return None

    def take(self, claims: Iterable[Claimed]) -> None:
        """Never called, since nothing is claimed."""
