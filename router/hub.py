"""The hub: tells open pages and streams that their session has news, once a commit batch, and lets them read it.

News is only a hint. A reader that is told reads the transcript from its own last number, so ten commits that come
while it reads are one more read, and a hint that is lost costs at most one poll.
Rejected: sending the news itself through the hub. It would have to be kept for each slow reader, and a reader that
lost some would need the transcript anyway.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import structlog

from sessionstore.clock import Clock
from sessionstore.errors import Overloaded, StoreError
from sessionstore.inbox import InboxRow, SessionRef
from sessionstore.notice import Notice
from sessionstore.reads import Reads

log = structlog.get_logger(__name__)

POLL_S = 2.0
SUBSCRIPTIONS_MAX = 10_000
SEQS_A_QUERY_MAX = 1_000
ARRIVALS_MAX = 1_000


class Subscription:
    """One reader of one session.

    `arrivals` are inbox rows that came since the reader last took them; `seq` is how far it has read; a `restless`
    reader is woken by every poll, because what it shows can change without a commit of its session.
    """

    __slots__ = ("arrivals", "closed", "news", "ref", "restless", "seq")

    def __init__(self, ref: SessionRef) -> None:
        self.ref = ref
        self.news = asyncio.Event()
        self.arrivals: list[InboxRow] = []
        self.seq = 0
        self.restless = False
        self.closed = False

    def take_arrivals(self) -> list[InboxRow]:
        """What came since the last time."""
        taken, self.arrivals = self.arrivals, []
        return taken

    async def wait(self, timeout_s: float | None = None) -> bool:
        """Until there may be news; False when the time ran out first."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.news.wait()
        except TimeoutError:
            return False
        self.news.clear()
        return True


class Hub:
    """Subscriptions by session. `notice` is a listener of the store; `run` polls for commits of other processes."""

    def __init__(self, reads: Reads, clock: Clock, *, poll_s: float = POLL_S) -> None:
        self._reads = reads
        self._clock = clock
        self._poll_s = poll_s
        self._readers: dict[SessionRef, set[Subscription]] = {}
        self._count = 0
        self._closed = False

    def __len__(self) -> int:
        return self._count

    def subscribe(self, ref: SessionRef) -> Subscription:
        """Be woken about a session. Raises Overloaded when too many are open."""
        if self._closed or self._count >= SUBSCRIPTIONS_MAX:
            raise Overloaded(
                "this server is stopping" if self._closed else f"{SUBSCRIPTIONS_MAX} pages and streams are open here",
                hint="connect again in a moment",
            )
        subscription = Subscription(ref)
        self._readers.setdefault(ref, set()).add(subscription)
        self._count += 1
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Be woken no more; harmless when done twice."""
        readers = self._readers.get(subscription.ref, set())
        if subscription not in readers:
            return
        readers.remove(subscription)
        self._count -= 1
        if not readers:
            del self._readers[subscription.ref]

    def notice(self, notice: Notice) -> None:
        """What a transaction of this process changed."""
        hot = self._readers.keys() & notice.touched
        if not hot:
            return
        for accepted in notice.rows:
            ref = SessionRef(accepted.row.event.tenant, accepted.row.event.session)
            for reader in self._readers[ref] if ref in hot else ():
                if len(reader.arrivals) < ARRIVALS_MAX:
                    reader.arrivals.append(accepted.row)
        for ref in hot:
            self.wake(ref)

    def wake(self, ref: SessionRef) -> None:
        """There may be news of this session."""
        for reader in self._readers.get(ref, ()):
            reader.news.set()

    async def run(self) -> None:
        """Poll until cancelled; a store that cannot answer is asked again at the next turn."""
        while True:
            await asyncio.sleep(self._poll_s)
            try:
                await self.poll()
            except StoreError as error:
                log.warning("hub.poll_failed", code=error.code, error=str(error))
            except Exception:
                log.exception("hub.poll_broke")

    async def poll(self) -> None:
        """Wake whoever has not read to the end of its session, and the restless."""
        refs = list(self._readers)
        for start in range(0, len(refs), SEQS_A_QUERY_MAX):
            seqs = await self._reads.newest_seqs(refs[start : start + SEQS_A_QUERY_MAX])
            for reader in self._of(seqs):
                if seqs[reader.ref] > reader.seq or reader.restless:
                    reader.news.set()

    def close(self) -> None:
        """Take no more readers, and tell the open ones to end."""
        self._closed = True
        for readers in self._readers.values():
            for reader in readers:
                reader.closed = True
                reader.news.set()

    def _of(self, refs: dict[SessionRef, Any]) -> Iterator[Subscription]:
        for ref in refs:
            yield from tuple(self._readers.get(ref, ()))
