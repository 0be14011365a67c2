"""A courier: a relay in the same process, which takes effects straight from the commit that decided on them."""

from collections.abc import Iterable
from typing import Protocol

from sessionstore.commit import HandOver
from sessionstore.effect import Claimed


class Courier(Protocol):
    """What a worker needs of a relay beside it."""

    @property
    def hand_over(self) -> HandOver | None:
        """What a commit may claim for it; None when it has no room."""
        ...

    def take(self, claims: Iterable[Claimed]) -> None:
        """Carry these out; they are durable and marked `sending`."""
        ...


class NoCourier:
    """No relay here: effects are found in the outbox by whoever looks."""

    hand_over: HandOver | None = None

    def take(self, claims: Iterable[Claimed]) -> None:
        """Never called, since nothing is claimed."""
