"""Waits: each question and each timer ends once, in the transaction that writes its inbox row."""

import asyncio
from typing import Any

import pytest

from sessionstore.event import Kind, Rank
from sessionstore.store import Store
from sessionstore.wait import Answered, NewAnswer, NoSuchWait, NotOpen, Wait, WaitStatus
from tests.conformance.places import ManualClock, Place
from tests.conformance.samples import REF, acquire, effect, intend, put


def question(id_: str = "w1", **changes: Any) -> Wait:
    return Wait(id_, "approval", "go", "Go?", **changes)


def timer(id_: str, due: float, **changes: Any) -> Wait:
    return Wait(id_, "timer", "wake", due=due, **changes)


async def answer(store: Store, value: Any = "approved", by: str = "ann", wait_id: str = "w1") -> Any:
    [result] = await store.waits.answer([NewAnswer(wait_id, value, by)])
    return result


async def test_the_first_answer_wins_and_becomes_a_row(place: Place, store: Store) -> None:
    await intend(store, waits=(question(binds={"commit": "abc"}, data={"n": 1}, route={"adapter": "fake"}),))
    result = await answer(store)
    assert isinstance(result, Answered)
    store = await place.reopen(store)
    [row] = await store.inbox.queued(REF, 10)
    assert (row.pos, row.event.kind, row.event.rank, row.event.type) == (
        result.pos,
        Kind.ANSWER,
        Rank.REST,
        "approval.answered",
    )
    assert row.event.data["answer"] == "approved"
    assert row.event.data["binds"] == {"commit": "abc"}
    assert (row.event.data["then"], row.event.data["data"], row.event.data["by"]) == ("go", {"n": 1}, "ann")
    assert row.event.reply_route == {"adapter": "fake"}


async def test_the_second_answer_is_told_who_was_first(store: Store) -> None:
    await intend(store, waits=(question(),))
    await answer(store, "approved", "ann")
    assert await answer(store, "rejected", "bob") == NotOpen("w1", REF.session, WaitStatus.ANSWERED, "approved", "ann")
    assert len(await store.inbox.queued(REF, 10)) == 1


async def test_of_many_answers_at_once_one_wins(place: Place, store: Store) -> None:
    await intend(store, waits=(question(),))
    other = place.open()
    results = await asyncio.gather(*(answer(s, "approved", f"p{n}") for n, s in enumerate([store, other] * 10)))
    assert sorted(type(r).__name__ for r in results) == ["Answered"] + ["NotOpen"] * 19
    assert len(await store.inbox.queued(REF, 10)) == 1


async def test_an_answer_to_no_question_is_told_so(store: Store) -> None:
    assert await answer(store) == NoSuchWait("w1")


async def test_an_answer_past_the_expiry_is_late_even_if_nobody_noticed_the_expiry(
    store: Store, clock: ManualClock
) -> None:
    await intend(store, waits=(question(expires_at=clock.now() + 60),))
    clock.advance(60)
    late = await answer(store)
    assert isinstance(late, NotOpen)
    assert late.status is WaitStatus.EXPIRED
    assert await store.inbox.queued(REF, 10) == []


async def test_an_answer_just_before_the_expiry_counts(store: Store, clock: ManualClock) -> None:
    await intend(store, waits=(question(expires_at=clock.now() + 60),))
    clock.advance(59.9)
    assert isinstance(await answer(store), Answered)
    clock.advance(10)
    assert await store.waits.fire_due(10) == []


async def test_an_expired_question_becomes_a_row_once(store: Store, clock: ManualClock) -> None:
    await intend(store, waits=(question(expires_at=clock.now() + 60),))
    assert await store.waits.next_due() == clock.now() + 60
    assert await store.waits.fire_due(10) == []
    clock.advance(60)
    [fired] = await store.waits.fire_due(10)
    assert (fired.row.event.kind, fired.row.event.type) == (Kind.ANSWER, "approval.expired")
    assert await store.waits.fire_due(10) == []
    assert await store.waits.next_due() is None


async def test_a_timer_fires_once_with_two_timekeepers(place: Place, store: Store, clock: ManualClock) -> None:
    waits = tuple(timer(f"w{n}", clock.now() + n, data=n) for n in range(1, 21))
    await intend(store, waits=waits)
    other = place.open()
    clock.advance(30)
    fired = await asyncio.gather(*(s.waits.fire_due(7) for s in [store, other] * 4))
    assert sorted(a.row.event.data["data"] for rows in fired for a in rows) == list(range(1, 21))
    rows = await store.inbox.queued(REF, 100)
    assert [row.event.data["data"] for row in rows] == list(range(1, 21))
    assert {row.event.kind for row in rows} == {Kind.TIMER}


async def test_timers_fire_in_the_order_of_their_time(store: Store, clock: ManualClock) -> None:
    await intend(store, waits=(timer("late", clock.now() + 9), timer("soon", clock.now() + 1)))
    clock.advance(10)
    assert [a.row.event.id for a in await store.waits.fire_due(10)] == ["soon", "late"]


async def test_a_fired_timer_is_durable_with_its_row(place: Place, store: Store, clock: ManualClock) -> None:
    await intend(store, waits=(timer("w1", clock.now() + 1),))
    clock.advance(1)
    await store.waits.fire_due(10)
    store = await place.reopen(store)
    assert await store.waits.fire_due(10) == []
    assert len(await store.inbox.queued(REF, 10)) == 1


@pytest.mark.parametrize(("priority", "first"), [(True, "w1"), (False, "later")])
async def test_an_answer_keeps_its_place_unless_the_wait_says_priority(
    store: Store, priority: bool, first: str
) -> None:
    await intend(store, waits=(question(priority=priority),))
    await put(store, "later")
    await answer(store)
    rows = await store.inbox.queued(REF, 10)
    assert rows[0].event.id == first
    assert (await acquire(store)).next_pos == rows[0].pos


async def test_an_answer_while_another_run_is_open_waits_for_it(store: Store) -> None:
    await intend(store, waits=(question(),))
    await intend(store, effect("e1", then="after"), run_id="r1")
    await answer(store)
    assert await store.inbox.runnable(["a"], 10) == []


async def test_a_wait_is_shown_with_all_that_was_asked(store: Store, clock: ManualClock) -> None:
    await intend(store, waits=(question(options=("yes", "no"), binds={"x": 1}, expires_at=clock.now() + 5),))
    wait = await store.waits.get("w1")
    assert wait is not None
    assert (wait["question"], wait["options"], wait["binds"], wait["due"], wait["status"]) == (
        "Go?",
        ["yes", "no"],
        {"x": 1},
        clock.now() + 5,
        "open",
    )
    assert await store.waits.get("nope") is None
