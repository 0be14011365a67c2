"""The relay: `sending` before the first byte, one attempt at a time, order in a lane, and nothing sent twice."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from outbox.adapter import Delivered, Idempotency, Limits, NotSent, Rejected, Sending, SendResult, Unknown
from outbox.relay import Moved, RelaySettings
from sessionstore.commit import Committed
from sessionstore.effect import Claimed
from sessionstore.errors import StoreBusy
from tests.conformance.samples import REF, acquire, closing, effect, intend, put, ref
from tests.unit.outbox.relaying import Bench, Scripted, opened, running, taking
from turnline.testing.virtualtime import run_virtually

Scene = Callable[[Bench], Coroutine[Any, Any, None]]
ENDS = {"delivered", "failed", "expired", "cancelled", "unknown"}


def play(folder: Path, scene: Scene) -> None:
    async def whole() -> None:
        async with opened(folder) as bench:
            await scene(bench)

    run_virtually(whole())


async def ended(bench: Bench, *effect_ids: str) -> dict[str, str]:
    """Let time pass until these have ended."""
    while True:
        states = await bench.states()
        if all(states[effect_id] in ENDS for effect_id in effect_ids):
            return states
        await asyncio.sleep(0.1)


def test_it_is_durably_sending_before_the_first_byte(tmp_path: Path) -> None:
    seen: list[str] = []

    async def act(sending: Sending) -> SendResult:
        connection = sqlite3.connect(tmp_path / "store.sqlite")
        seen.extend(
            state for (state,) in connection.execute("SELECT state FROM outbox WHERE effect_id = ?", (sending.key,))
        )
        connection.close()
        return Delivered("r")

    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"), effect("e2", "bound", binds={"x": 1}))
        async with running(bench.relay(Scripted(act, act))):
            await ended(bench, "e1", "e2")

    play(tmp_path, scene)
    assert seen == ["sending", "sending"]


def test_what_was_delivered_is_settled_with_its_receipt_and_told_once(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), run_id="r1")
        adapter = Scripted(Delivered("r1", {"n": 1}))
        async with running(bench.relay(adapter)):
            await ended(bench, "e1")
        row = await bench.effect("e1")
        assert (row["receipt"], row["result"], row["attempts"]) == ("r1", {"n": 1}, 1)
        assert await bench.outcomes(REF) == ["delivered"]
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_a_lane_keeps_its_order_through_retries(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"), effect("e2"), effect("e3"))
        adapter = Scripted(NotSent("busy"), NotSent("busy"), Delivered("r"), NotSent("busy"))
        async with running(bench.relay(adapter)):
            await ended(bench, "e1", "e2", "e3")
        assert adapter.keys == ["e1", "e1", "e1", "e2", "e2", "e3"]
        assert [s.attempt for s in adapter.arrivals] == [1, 2, 3, 1, 2, 1]

    play(tmp_path, scene)


def test_retry_after_is_honoured(tmp_path: Path) -> None:
    times: list[float] = []

    async def scene(bench: Bench) -> None:
        async def act(sending: Sending) -> SendResult:
            times.append(bench.clock.now())
            return NotSent("429", retry_after_s=120.0) if len(times) == 1 else Delivered("r")

        await intend(bench.store, effect("e1"))
        async with running(bench.relay(Scripted(act, act))):
            await ended(bench, "e1")

    play(tmp_path, scene)
    assert times[1] - times[0] >= 120.0


@pytest.mark.parametrize("result", [NotSent("400", permanent=True), Rejected("no")])
def test_a_final_no_is_failed_at_once_and_lets_the_lane_go_on(tmp_path: Path, result: SendResult) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), effect("e2"), run_id="r1")
        adapter = Scripted(result)
        async with running(bench.relay(adapter)):
            states = await ended(bench, "e1", "e2")
        assert states == {"e1": "failed", "e2": "delivered"}
        assert adapter.keys == ["e1", "e2"]
        assert await bench.outcomes(REF) == ["failed"]

    play(tmp_path, scene)


def test_it_gives_up_after_the_adapters_number_of_attempts(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        adapter = Scripted(*[NotSent("refused")] * 9, limits=Limits(attempts_max=3))
        async with running(bench.relay(adapter)):
            assert await ended(bench, "e1") == {"e1": "failed"}
        assert len(adapter.arrivals) == 3

    play(tmp_path, scene)


@pytest.mark.parametrize(
    "line", [Unknown("reset"), RuntimeError("a bug"), ConnectionResetError("reset"), TimeoutError(), taking(11.0)]
)
def test_an_unclear_end_is_unknown_and_never_sent_again_by_the_relay(tmp_path: Path, line: Any) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), effect("e2"), run_id="r1")
        adapter = Scripted(line)
        async with running(bench.relay(adapter)):
            await ended(bench, "e1")
            await asyncio.sleep(3_600)
        assert await bench.states() == {"e1": "unknown", "e2": "pending"}
        assert adapter.keys == ["e1"]
        assert await bench.outcomes(REF) == []

    play(tmp_path, scene)


def test_a_slow_destination_holds_up_no_other(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("slow", "slow"), *(effect(f"e{n}", f"l{n}") for n in range(20)))
        began = bench.clock.now()
        async with running(bench.relay(Scripted(taking(9.0)))):
            await ended(bench, *(f"e{n}" for n in range(20)))
            assert bench.clock.now() - began < 5.0
            assert (await bench.states())["slow"] == "sending"

    play(tmp_path, scene)


async def holds(claim: Claimed) -> Moved | None:
    return None


async def moved(claim: Claimed) -> Moved | None:
    return Moved({"commit": "def"})


def test_facts_that_hold_let_a_bound_effect_go(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", binds={"commit": "abc"}))
        adapter = Scripted()
        async with running(bench.relay(adapter, check=holds)):
            assert await ended(bench, "e1") == {"e1": "delivered"}
        assert [s.attempt for s in adapter.arrivals] == [1]

    play(tmp_path, scene)


def test_facts_that_moved_void_it_before_anything_is_sent_and_its_session_is_told(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", binds={"commit": "abc"}, approval="w0"), effect("e2"))
        adapter = Scripted()
        async with running(bench.relay(adapter, check=moved)):
            assert await ended(bench, "e1", "e2") == {"e1": "cancelled", "e2": "delivered"}
        assert adapter.keys == ["e2"]
        [row] = await bench.store.inbox.queued(REF, 10)
        assert (row.event.data["outcome"], row.event.data["facts"]) == ("void", {"commit": "def"})
        assert row.event.data["approval"] == "w0"

    play(tmp_path, scene)


@pytest.mark.parametrize("hangs", [True, False])
def test_facts_that_cannot_be_looked_at_send_nothing_and_hold_up_no_other_lane(tmp_path: Path, hangs: bool) -> None:
    looks: list[str] = []

    async def check(claim: Claimed) -> Moved | None:
        looks.append(claim.effect.effect_id)
        if len(looks) == 1:
            if hangs:
                await asyncio.sleep(1e9)
            raise ConnectionError("the observer is down")
        return None

    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", binds={"x": 1}), effect("e2", "other"))
        adapter = Scripted()
        async with running(bench.relay(adapter, check=check)):
            assert await ended(bench, "e1", "e2") == {"e1": "delivered", "e2": "delivered"}
        assert adapter.keys == ["e2", "e1"]

    play(tmp_path, scene)


def test_what_is_older_than_its_adapter_allows_expires_unsent(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"), effect("e2", "own", expires_at=bench.clock.now() + 5))
        await asyncio.sleep(100)
        adapter = Scripted(limits=Limits(ttl_s=60.0))
        async with running(bench.relay(adapter)):
            assert await ended(bench, "e1", "e2") == {"e1": "expired", "e2": "expired"}
        assert adapter.arrivals == []

    play(tmp_path, scene)


class Slow:
    """An outbox whose claims take a long time to be answered."""

    def __init__(self, bench: Bench, seconds: float) -> None:
        self._queue = bench.store.outbox
        self._seconds = seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    async def claim(self, *args: Any) -> list[Claimed]:
        claims = await self._queue.claim(*args)
        await asyncio.sleep(self._seconds)
        return claims


@pytest.mark.parametrize(("seconds", "sent"), [(5.0, ["e1"]), (29.0, [])])
def test_nothing_is_sent_when_the_claim_is_nearly_over(tmp_path: Path, seconds: float, sent: list[str]) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        adapter = Scripted()
        async with running(bench.relay(adapter, queue=Slow(bench, seconds))):
            await asyncio.sleep(29.5)
        assert adapter.keys == sent

    play(tmp_path, scene)


def test_what_a_commit_hands_over_late_is_not_sent_either(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        adapter = Scripted(limits=Limits(idempotency=Idempotency.NATIVE))
        relay = bench.relay(adapter)
        wanted = (effect("e1"), effect("e2", "other"))
        await put(bench.store, "a")
        turn = closing(await acquire(bench.store), effects=wanted, hand_over=relay.hand_over(wanted))
        [result] = await bench.store.commits.commit([turn])
        assert isinstance(result, Committed)
        relay.take(result.handed[:1])
        await asyncio.sleep(29.0)
        relay.take(result.handed[1:])
        await asyncio.sleep(0.5)
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_a_long_call_keeps_its_claim_and_is_made_once(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        adapter = Scripted(taking(200.0), limits=Limits(timeout_s=300.0))
        async with running(bench.relay(adapter), bench.relay(adapter)):
            assert await ended(bench, "e1") == {"e1": "delivered"}
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_a_call_whose_claim_is_lost_is_stopped_and_settles_nothing(tmp_path: Path) -> None:
    stopped: list[str] = []

    async def act(sending: Sending) -> SendResult:
        try:
            await asyncio.sleep(1e6)
        except asyncio.CancelledError:
            stopped.append(sending.key)
            raise
        return Delivered("r")

    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        async with running(bench.relay(Scripted(act, limits=Limits(timeout_s=1e7)))):
            await asyncio.sleep(1)
            await bench.store.adopt()
            await asyncio.sleep(30)
            assert stopped == ["e1"]
        assert await bench.states() == {"e1": "unknown"}

    play(tmp_path, scene)


def test_several_relays_send_everything_once_and_in_order(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        for n in range(5):
            await intend(bench.store, *(effect(f"{n}-{k}", f"lane{k % 3}") for k in range(9)), session=ref(n))
        adapter = Scripted(*[taking(0.01 * (n % 4)) for n in range(45)])
        async with running(*(bench.relay(adapter) for _ in range(3))):
            await ended(bench, *(f"{n}-{k}" for n in range(5) for k in range(9)))
        assert len(adapter.keys) == len(set(adapter.keys)) == 45
        for n in range(5):
            for lane in range(3):
                own = [key for key in adapter.keys if key in {f"{n}-{k}" for k in range(9) if k % 3 == lane}]
                assert own == sorted(own)

    play(tmp_path, scene)


def test_a_bookkeeping_step_that_fails_after_the_send_never_sends_again(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        class Failing(Slow):
            async def settle(self, settlements: Any) -> Any:
                raise StoreBusy("the disk is full")

        await intend(bench.store, effect("e1"))
        adapter = Scripted()
        async with running(bench.relay(adapter, queue=Failing(bench, 0.0))):
            await asyncio.sleep(600)
        assert adapter.keys == ["e1"]
        assert await bench.states() == {"e1": "unknown"}

    play(tmp_path, scene)


def test_stopping_finishes_what_is_under_way_and_takes_no_more(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"), effect("e2"))
        adapter = Scripted(taking(5.0))
        relay = bench.relay(adapter)
        async with running(relay):
            await asyncio.sleep(1)
        assert adapter.keys == ["e1"]
        assert await bench.states() == {"e1": "delivered", "e2": "pending"}
        assert relay.hand_over((effect("e3"),)) is None

    play(tmp_path, scene)


def test_what_outlives_the_drain_is_cut_off_and_left_to_be_looked_at(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        adapter = Scripted(taking(1e6), limits=Limits(timeout_s=1e7))
        async with running(bench.relay(adapter, settings=RelaySettings(drain_s=2.0))):
            await asyncio.sleep(1)
        assert await bench.states() == {"e1": "sending"}
        await asyncio.sleep(40)
        async with running(bench.relay(adapter)):
            await asyncio.sleep(1)
        assert await bench.states() == {"e1": "unknown"}
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_the_other_sides_id_is_kept_while_the_call_runs(tmp_path: Path) -> None:
    async def act(sending: Sending) -> SendResult:
        await sending.started("job-1")
        return Unknown("the connection broke")

    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        async with running(bench.relay(Scripted(act))):
            await ended(bench, "e1")
        assert (await bench.effect("e1"))["external_id"] == "job-1"

    play(tmp_path, scene)
