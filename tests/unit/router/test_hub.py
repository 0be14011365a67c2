"""What the hub promises: each reader is woken once for what it has not read, and only about its own session."""

from collections.abc import Sequence
from typing import Any

import pytest

from router.hub import SUBSCRIPTIONS_MAX, Hub
from sessionstore.clock import SystemClock
from sessionstore.errors import Overloaded
from sessionstore.event import Event
from sessionstore.inbox import Accepted, InboxRow, SessionRef
from sessionstore.notice import Notice

ONE, TWO = SessionRef("default", "agent:a/dm:1"), SessionRef("default", "agent:a/dm:2")


class Seqs:
    """The one query of the hub, counted."""

    def __init__(self) -> None:
        self.seqs: dict[SessionRef, int] = {}
        self.asked: list[Sequence[SessionRef]] = []

    async def newest_seqs(self, refs: Sequence[SessionRef]) -> dict[SessionRef, int]:
        self.asked.append(refs)
        return {ref: seq for ref, seq in self.seqs.items() if ref in refs}


@pytest.fixture
async def seqs() -> Seqs:
    return Seqs()


@pytest.fixture
async def hub(seqs: Seqs) -> Hub:
    reads: Any = seqs
    return Hub(reads, SystemClock())


def arrival(ref: SessionRef, pos: int) -> Accepted:
    event = Event(ref.tenant, "s", f"e{pos}", "message", ref.session, "a")
    return Accepted(InboxRow(pos, event, 0.0, 0), 0)


async def test_only_readers_of_a_touched_session_are_woken(hub: Hub) -> None:
    one, again, two = hub.subscribe(ONE), hub.subscribe(ONE), hub.subscribe(TWO)
    hub.notice(Notice(touched={ONE}))
    assert [reader.news.is_set() for reader in (one, again, two)] == [True, True, False]


async def test_several_commits_before_a_reader_looks_are_one_waking(hub: Hub) -> None:
    reader = hub.subscribe(ONE)
    for _ in range(5):
        hub.notice(Notice(touched={ONE}))
    assert await reader.wait(0)
    assert not await reader.wait(0)


async def test_a_reader_is_given_the_rows_of_its_own_session_once(hub: Hub) -> None:
    reader = hub.subscribe(ONE)
    hub.notice(Notice(rows=[arrival(ONE, 1), arrival(TWO, 2), arrival(ONE, 3)], touched={ONE, TWO}))
    assert [row.pos for row in reader.take_arrivals()] == [1, 3]
    assert reader.take_arrivals() == []


async def test_a_poll_asks_once_for_all_and_wakes_those_behind_and_the_restless(hub: Hub, seqs: Seqs) -> None:
    behind, level, restless = hub.subscribe(ONE), hub.subscribe(ONE), hub.subscribe(TWO)
    seqs.seqs = {ONE: 7, TWO: 3}
    behind.seq, level.seq, restless.seq, restless.restless = 6, 7, 3, True
    await hub.poll()
    assert [reader.news.is_set() for reader in (behind, level, restless)] == [True, False, True]
    assert len(seqs.asked) == 1


async def test_a_poll_without_readers_asks_nothing(hub: Hub, seqs: Seqs) -> None:
    hub.unsubscribe(hub.subscribe(ONE))
    await hub.poll()
    assert seqs.asked == []
    assert len(hub) == 0


async def test_leaving_twice_counts_once(hub: Hub) -> None:
    staying, leaving = hub.subscribe(ONE), hub.subscribe(ONE)
    hub.unsubscribe(leaving)
    hub.unsubscribe(leaving)
    hub.notice(Notice(touched={ONE}))
    assert len(hub) == 1
    assert staying.news.is_set()
    assert not leaving.news.is_set()


async def test_closing_ends_every_reader_and_takes_no_more(hub: Hub) -> None:
    reader = hub.subscribe(ONE)
    hub.close()
    assert reader.closed
    assert await reader.wait(0)
    with pytest.raises(Overloaded):
        hub.subscribe(TWO)


async def test_more_readers_than_the_limit_are_refused(hub: Hub) -> None:
    for _ in range(SUBSCRIPTIONS_MAX):
        hub.subscribe(ONE)
    with pytest.raises(Overloaded) as refused:
        hub.subscribe(ONE)
    assert refused.value.retryable
