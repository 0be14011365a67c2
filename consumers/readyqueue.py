"""The ready queue: sessions that have something to run, taken round-robin over tenants."""

from collections import OrderedDict, deque

from consumers.mailbox import Mailbox


class ReadyQueue:
    """First come, first served inside a tenant; tenants take turns, so that a flood of one delays no other."""

    def __init__(self) -> None:
        self._tenants: OrderedDict[str, deque[Mailbox]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, mailbox: Mailbox) -> None:
        """At the end of its tenant's line."""
        queue = self._tenants.get(mailbox.ref.tenant)
        if queue is None:
            queue = self._tenants[mailbox.ref.tenant] = deque()
        queue.append(mailbox)
        self._count += 1

    def pop(self) -> Mailbox | None:
        """The next one; its tenant goes to the end of the round."""
        if not self._tenants:
            return None
        tenant, queue = next(iter(self._tenants.items()))
        mailbox = queue.popleft()
        self._count -= 1
        if queue:
            self._tenants.move_to_end(tenant)
        else:
            del self._tenants[tenant]
        return mailbox
