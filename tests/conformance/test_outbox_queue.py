"""The outbox: lanes in order, one in flight, `sending` before the first byte, and every write guarded by its claim."""

import asyncio
from typing import Any

import pytest

from sessionstore.commit import HandOver
from sessionstore.effect import Claimed, EffectState, Settlement
from sessionstore.event import Kind
from sessionstore.inbox import InboxRow
from sessionstore.store import Store
from tests.conformance.places import ManualClock, Place
from tests.conformance.samples import (
    REF,
    TENANT,
    acquire,
    claim_one,
    closing,
    effect,
    intend,
    put,
    ref,
    run_turn,
    state_of,
    traces,
)

S = EffectState


async def claim(store: Store, limit: int = 10, adapters: tuple[str, ...] = ("fake",)) -> list[Claimed]:
    return await store.outbox.claim(adapters, limit, 30.0)


async def claimed_ids(store: Store) -> list[str]:
    return [c.effect.effect_id for c in await claim(store)]


async def settle(store: Store, claimed: Claimed, state: EffectState = S.DELIVERED, **changes: Any) -> bool:
    [ours] = await store.outbox.settle([Settlement(claimed, state, **changes)])
    return ours


async def outcomes(store: Store) -> list[InboxRow]:
    return [row for row in await store.inbox.queued(REF, 100) if row.event.kind is Kind.OUTCOME]


async def test_a_claimed_row_is_durably_sending_when_claim_returns(place: Place, store: Store) -> None:
    await intend(store, effect("e1"))
    claimed = await claim_one(store)
    assert (claimed.state, claimed.attempts) == (S.SENDING, 1)
    assert await state_of(place.open(), "e1") == "sending"


async def test_a_claim_carries_the_effect_as_it_was_written(store: Store, clock: ManualClock) -> None:
    wanted = effect("e1", then="after", summary="s", route={"adapter": "fake"}, on_unknown="resend")
    await intend(store, wanted, run_id="r1", turn_id="t1")
    claimed = await claim_one(store)
    assert claimed.effect == wanted
    assert (claimed.tenant, claimed.session, claimed.run_id, claimed.turn_id) == (TENANT, REF.session, "r1", "t1")
    assert (claimed.created_at, claimed.sent_at, claimed.until) == (clock.now(), clock.now(), clock.now() + 30)


async def test_one_lane_leaves_in_the_order_written_one_at_a_time(store: Store) -> None:
    await intend(store, effect("e1"), effect("e2"), effect("e3"))
    left = []
    for _ in range(3):
        [claimed] = await claim(store)
        assert await claim(store) == []
        left.append(claimed.effect.effect_id)
        await settle(store, claimed)
    assert left == ["e1", "e2", "e3"]


async def test_effects_of_later_turns_line_up_behind_the_earlier_ones(store: Store) -> None:
    await intend(store, effect("e1"))
    await intend(store, effect("e2"))
    assert await claimed_ids(store) == ["e1"]
    assert await claimed_ids(store) == []


async def test_other_lanes_and_other_sessions_do_not_wait(store: Store) -> None:
    await intend(store, effect("e1"), effect("e2", "http"))
    await intend(store, effect("e3"), session=ref(2))
    assert sorted(await claimed_ids(store)) == ["e1", "e2", "e3"]


async def test_many_claimers_take_each_row_once(place: Place, store: Store) -> None:
    other = place.open()
    await intend(store, *(effect(f"e{n}", f"lane{n}") for n in range(30)))
    taken = await asyncio.gather(*(claim(s, 4) for s in [store, other] * 6))
    ids = [c.effect.effect_id for claims in taken for c in claims]
    assert len(ids) == len(set(ids)) == 30


async def test_only_rows_of_the_callers_adapters_are_taken(store: Store) -> None:
    await intend(store, effect("e1", adapter="mail"))
    assert await claim(store) == []
    assert [c.effect.effect_id for c in await claim(store, adapters=("fake", "mail"))] == ["e1"]


async def test_a_retry_holds_its_lane_until_it_is_due(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("e1"), effect("e2"))
    await settle(store, await claim_one(store), S.RETRY, due=clock.now() + 5, error="busy")
    assert await claim(store) == []
    assert await store.outbox.next_due() == clock.now() + 5
    clock.advance(5)
    again = await claim_one(store)
    assert (again.effect.effect_id, again.attempts) == ("e1", 2)


@pytest.mark.parametrize("end", [S.DELIVERED, S.FAILED, S.EXPIRED, S.CANCELLED])
async def test_every_end_lets_the_next_in_the_lane_go(store: Store, end: EffectState) -> None:
    await intend(store, effect("e1"), effect("e2"))
    assert await settle(store, await claim_one(store), end)
    assert await state_of(store, "e1") == end.value
    assert await claimed_ids(store) == ["e2"]


async def test_a_claim_that_runs_out_while_sending_becomes_unknown_and_never_pending(
    store: Store, clock: ManualClock
) -> None:
    await intend(store, effect("e1"), effect("e2"))
    await claim_one(store)
    clock.advance(31)
    assert await claim(store) == []
    assert await state_of(store, "e1") == "unknown"
    clock.advance(10_000)
    assert await claim(store) == []
    assert await state_of(store, "e1") == "unknown"


async def test_a_renewed_claim_does_not_run_out(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("e1"))
    claimed = await claim_one(store)
    clock.advance(20)
    assert await store.outbox.renew([claimed], 30.0) == [True]
    clock.advance(20)
    assert await claim(store) == []
    assert await state_of(store, "e1") == "sending"


async def test_a_claim_that_ran_out_can_neither_be_renewed_nor_settle_once_it_was_seen(
    store: Store, clock: ManualClock
) -> None:
    await intend(store, effect("e1", then="after"), run_id="r1")
    claimed = await claim_one(store)
    clock.advance(31)
    assert await store.outbox.renew([claimed], 30.0) == [False]
    await claim(store)
    before = await traces(store)
    assert not await settle(store, claimed)
    assert await store.outbox.started(claimed, "job-1") is False
    assert await traces(store) == before


async def test_settling_with_a_stale_claim_writes_nothing_over_the_new_owners(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("e1", then="after"), effect("e2"), run_id="r1")
    stale = await claim_one(store)
    await settle(store, stale, S.RETRY, due=clock.now())
    fresh = await claim_one(store)
    before = await traces(store)
    assert not await settle(store, stale)
    assert await traces(store) == before
    assert await settle(store, fresh)


async def test_a_second_settlement_of_one_claim_is_refused(store: Store) -> None:
    await intend(store, effect("e1", then="after"), run_id="r1")
    claimed = await claim_one(store)
    assert [await settle(store, claimed), await settle(store, claimed, S.FAILED)] == [True, False]
    assert await state_of(store, "e1") == "delivered"
    assert len(await outcomes(store)) == 1


async def test_one_call_settles_many_and_a_lost_one_disturbs_no_other(store: Store) -> None:
    await intend(store, effect("e1", "l1"), effect("e2", "l2"), effect("e3", "l3"))
    claims = await claim(store)
    await settle(store, claims[1])
    assert await store.outbox.settle([Settlement(c, S.DELIVERED) for c in claims]) == [True, False, True]


async def test_an_effect_bound_to_facts_is_claimed_but_not_marked(store: Store) -> None:
    await intend(store, effect("e1", binds={"commit": "abc"}))
    claimed = await claim_one(store)
    assert (claimed.state, claimed.attempts, claimed.effect.binds) == (S.PENDING, 0, {"commit": "abc"})
    assert await state_of(store, "e1") == "pending"
    assert await claim(store) == []
    assert await store.outbox.mark([claimed]) == [True]
    assert await state_of(store, "e1") == "sending"


async def test_an_expired_effect_is_claimed_but_not_marked(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("e1", expires_at=clock.now() + 5), effect("e2"))
    clock.advance(6)
    claimed = await claim_one(store)
    assert claimed.state is S.PENDING
    assert await settle(store, claimed, S.EXPIRED)
    assert await claimed_ids(store) == ["e2"]


async def test_a_bound_effect_whose_claimer_died_is_due_again_and_was_never_sending(
    store: Store, clock: ManualClock
) -> None:
    await intend(store, effect("e1", binds={"commit": "abc"}))
    stale = await claim_one(store)
    clock.advance(31)
    again = await claim_one(store)
    assert (again.effect.effect_id, again.state) == ("e1", S.PENDING)
    assert await store.outbox.mark([stale, again]) == [False, True]


async def test_nothing_is_marked_twice(store: Store) -> None:
    await intend(store, effect("e1", binds={"x": 1}))
    claimed = await claim_one(store)
    assert await store.outbox.mark([claimed, claimed]) == [True, False]


async def test_an_outcome_becomes_one_row_of_the_session_when_it_was_asked_for(store: Store) -> None:
    await intend(store, effect("e1", then="after", summary="deploy"), run_id="r1")
    claimed = await claim_one(store)
    await settle(store, claimed, receipt="r", result={"n": 1})
    [row] = await outcomes(store)
    assert row.event.type == "effect.delivered"
    assert row.event.data["then"] == "after"
    assert (row.event.data["result"], row.event.data["receipt"]) == ({"n": 1}, "r")
    assert (await acquire(store)).next_pos == row.pos


async def test_an_effect_that_nobody_waits_for_makes_no_row(store: Store) -> None:
    await intend(store, effect("e1"))
    await settle(store, await claim_one(store))
    assert await store.inbox.queued(REF, 10) == []


async def test_retry_and_unknown_are_no_outcomes(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("e1", then="after"), run_id="r1")
    await settle(store, await claim_one(store), S.RETRY, due=clock.now())
    await settle(store, await claim_one(store), S.UNKNOWN, due=clock.now())
    assert await outcomes(store) == []


async def test_an_outcome_of_the_open_run_overtakes_what_is_held_back(store: Store) -> None:
    await intend(store, effect("e1", then="after"), run_id="r1")
    await put(store, "later")
    await settle(store, await claim_one(store))
    held = await acquire(store)
    [row] = await outcomes(store)
    assert held.next_pos == row.pos


async def test_an_unknown_row_is_looked_at_when_due_by_one_reconciler(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("e1"))
    await settle(store, await claim_one(store), S.UNKNOWN, due=clock.now() + 5, error="timeout")
    assert await store.outbox.claim_unknown(["fake"], 10, 30.0) == []
    clock.advance(5)
    [looked] = await store.outbox.claim_unknown(["fake"], 10, 30.0)
    assert (looked.state, looked.checks, looked.error) == (S.UNKNOWN, 1, "timeout")
    assert await store.outbox.claim_unknown(["fake"], 10, 30.0) == []
    assert await claim(store) == []


async def test_a_dead_reconcilers_rows_are_looked_at_by_another(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("e1"))
    await settle(store, await claim_one(store), S.UNKNOWN, due=clock.now())
    [stale] = await store.outbox.claim_unknown(["fake"], 10, 30.0)
    clock.advance(31)
    [fresh] = await store.outbox.claim_unknown(["fake"], 10, 30.0)
    assert not await settle(store, stale)
    assert await settle(store, fresh)


async def test_an_unknown_row_holds_its_lane(store: Store, clock: ManualClock) -> None:
    await intend(store, effect("e1"), effect("e2"))
    await settle(store, await claim_one(store), S.UNKNOWN, due=clock.now())
    assert await claim(store) == []


async def test_one_that_waits_for_a_person_lets_its_lane_go_on_and_tells_its_session(store: Store) -> None:
    await intend(store, effect("e1", then="after"), effect("e2"), run_id="r1")
    await settle(store, await claim_one(store), S.UNKNOWN, asked=True)
    assert await state_of(store, "e1") == "unknown"
    assert [row.event.data["outcome"] for row in await outcomes(store)] == ["asked"]
    assert await claimed_ids(store) == ["e2"]
    assert await store.outbox.claim_unknown(["fake"], 10, 30.0) == []


async def test_what_was_asked_is_answered_by_a_mark_and_told(store: Store) -> None:
    await intend(store, effect("e1", then="after"), run_id="r1")
    await settle(store, await claim_one(store), S.UNKNOWN, asked=True)
    await store.operations.mark("e1", "delivered", "op", "seen in the console")
    assert await state_of(store, "e1") == "delivered"
    assert [row.event.data["outcome"] for row in await outcomes(store)] == ["asked", "delivered"]


async def test_the_other_sides_id_is_durable_while_the_call_runs(place: Place, store: Store) -> None:
    await intend(store, effect("e1"))
    claimed = await claim_one(store)
    assert await store.outbox.started(claimed, "job-1")
    row = await place.open().reads.effect("e1")
    assert row is not None
    assert (row["external_id"], row["state"]) == ("job-1", "sending")


async def test_a_resend_goes_to_the_head_of_its_lane_and_waits_for_what_is_in_flight(store: Store) -> None:
    await intend(store, effect("e1"), effect("e2"), effect("e3"))
    await settle(store, await claim_one(store), S.FAILED)
    second = await claim_one(store)
    await store.operations.resend("e1", "op")
    assert await claim(store) == []
    await settle(store, second)
    assert await claimed_ids(store) == ["e1"]


async def test_a_resend_does_not_fly_beside_a_bound_effect_that_is_being_looked_at(store: Store) -> None:
    await intend(store, effect("e1"), effect("e2", binds={"x": 1}))
    await settle(store, await claim_one(store), S.FAILED)
    looked_at = await claim_one(store)
    await store.operations.resend("e1", "op")
    assert await claimed_ids(store) == ["e1"]
    assert await store.outbox.mark([looked_at]) == [False]


async def test_a_resent_effects_new_end_is_offered_to_the_session_again(store: Store) -> None:
    await intend(store, effect("e1"))
    await settle(store, await claim_one(store), S.FAILED, error="no")
    held = await acquire(store)
    assert [r.state for r in held.receipts] == ["failed"]
    await put(store, "next")
    await store.leases.release([held.lease])
    await run_turn(store, absorbed=tuple(r.pos for r in held.receipts))
    await store.operations.resend("e1", "op")
    await settle(store, await claim_one(store))
    assert [r.state for r in (await acquire(store)).receipts] == ["delivered"]


async def test_a_commit_hands_the_head_of_an_idle_lane_straight_to_its_own_relay(store: Store) -> None:
    taker = HandOver(frozenset({"e1", "e2", "e3"}), "nonce-of-the-relay", 30.0)
    await put(store, "a")
    turn = closing(
        await acquire(store),
        effects=(effect("e1"), effect("e2"), effect("e3", "l3", binds={"x": 1}), effect("e4", "l4", adapter="mail")),
        hand_over=taker,
    )
    [result] = await store.commits.commit([turn])
    handed = getattr(result, "handed", ())
    assert [(c.effect.effect_id, c.state, c.nonce) for c in handed] == [("e1", S.SENDING, "nonce-of-the-relay")]
    assert await state_of(store, "e1") == "sending"
    assert sorted(c.effect.effect_id for c in await claim(store)) == ["e3"]
    assert await settle(store, handed[0])
    assert await claimed_ids(store) == ["e2"]


async def test_what_was_handed_over_and_never_sent_becomes_unknown(store: Store, clock: ManualClock) -> None:
    await put(store, "a")
    turn = closing(await acquire(store), effects=(effect("e1"),), hand_over=HandOver(frozenset({"e1"}), "relay", 30.0))
    await store.commits.commit([turn])
    clock.advance(31)
    assert await claim(store) == []
    assert await state_of(store, "e1") == "unknown"


async def test_a_lane_that_is_not_idle_hands_nothing_over(store: Store) -> None:
    await intend(store, effect("e1"))
    await put(store, "a")
    turn = closing(await acquire(store), effects=(effect("e2"),), hand_over=HandOver(frozenset({"e2"}), "relay", 30.0))
    [result] = await store.commits.commit([turn])
    assert getattr(result, "handed", None) == ()
    assert await claimed_ids(store) == ["e1"]
