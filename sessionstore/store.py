"""A store: the seams together, as a driver offers them."""

from collections.abc import Callable
from typing import Protocol

from sessionstore.commit import SessionStore
from sessionstore.inbox import Inbox
from sessionstore.intervention import Interventions
from sessionstore.leases import RowLeases
from sessionstore.notice import Listener
from sessionstore.operations import Operations
from sessionstore.outboxqueue import OutboxQueue
from sessionstore.reads import Reads
from sessionstore.timer import Cron, Waits


class Store(Protocol):
    """What the loops are given. Every write is durable when it returns."""

    @property
    def inbox(self) -> Inbox: ...
    @property
    def commits(self) -> SessionStore: ...
    @property
    def leases(self) -> RowLeases: ...
    @property
    def outbox(self) -> OutboxQueue: ...
    @property
    def waits(self) -> Waits: ...
    @property
    def cron(self) -> Cron: ...
    @property
    def reads(self) -> Reads: ...
    @property
    def operations(self) -> Operations: ...
    @property
    def interventions(self) -> Interventions: ...

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Be told, in this process, what each transaction changed; returns the way to stop."""
        ...

    async def close(self) -> None:
        """Finish pending writes and close."""
        ...
