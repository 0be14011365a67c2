"""The reconciler: looks at what is unknown and writes the decision down; one odd effect holds up no other."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from random import Random
from typing import Any

import pytest

from consumers.reconciler import Reconciler, ReconcilerSettings
from outbox.adapter import (
    Absent,
    CannotTell,
    Changed,
    Delivered,
    FailedThere,
    Idempotency,
    Limits,
    Running,
    Sending,
    SendResult,
    Succeeded,
    Unknown,
)
from outbox.relay import FactCheck, Moved, no_facts
from sessionstore.effect import Claimed
from tests.conformance.samples import REF, effect, intend
from tests.unit.outbox.relaying import Bench, Scripted, opened, running
from turnline.testing.virtualtime import run_virtually

NATIVE = Limits(idempotency=Idempotency.NATIVE, timeout_s=10.0)
LOOKUP = Limits(idempotency=Idempotency.LOOKUP, timeout_s=10.0)
NONE = Limits(timeout_s=10.0)

Scene = Callable[[Bench], Coroutine[Any, Any, None]]


def play(folder: Path, scene: Scene) -> None:
    async def whole() -> None:
        async with opened(folder) as bench:
            await scene(bench)

    run_virtually(whole())


async def live(
    bench: Bench,
    *adapters: Scripted,
    seconds: float = 60.0,
    check: FactCheck = no_facts,
    relay_check: FactCheck = no_facts,
    settings: ReconcilerSettings | None = None,
) -> None:
    """Relay and reconciler side by side for a while."""
    by_name = {a.name: a for a in adapters}
    reconciler = Reconciler(bench.store.outbox, by_name, bench.clock, Random(5), check=check, settings=settings)
    stop = bench.store.listen(reconciler.notice)
    task = asyncio.create_task(reconciler.run())
    async with running(bench.relay(*adapters, check=relay_check)):
        await asyncio.sleep(seconds)
    reconciler.stop()
    await task
    stop()


def unclear(limits: Limits, *found: Any, times: int = 1) -> Scripted:
    adapter = Scripted(*[Unknown("no answer")] * times, limits=limits)
    adapter.found = list(found)
    return adapter


def test_a_key_that_is_done_once_is_sent_again_under_the_same_key(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), effect("e2"), run_id="r1")
        adapter = unclear(NATIVE)
        await live(bench, adapter)
        assert adapter.keys == ["e1", "e1", "e2"]
        assert await bench.states() == {"e1": "delivered", "e2": "delivered"}
        assert await bench.outcomes(REF) == ["delivered"]
        assert not (await bench.effect("e1"))["possible_duplicate"]

    play(tmp_path, scene)


def test_a_key_that_the_other_side_has_forgotten_is_not_sent_again(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), run_id="r1")
        adapter = unclear(Limits(idempotency=Idempotency.NATIVE, window_s=100.0))
        async with running(bench.relay(adapter)):
            await asyncio.sleep(1)
        await asyncio.sleep(100)
        await live(bench, adapter)
        assert adapter.keys == ["e1"]
        assert await bench.outcomes(REF) == ["asked"]

    play(tmp_path, scene)


def test_the_window_begins_with_the_first_send_and_not_with_the_last(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        async def slowly(sending: Sending) -> SendResult:
            await asyncio.sleep(70)
            return Unknown("no answer")

        await intend(bench.store, effect("e1"))
        limits = Limits(idempotency=Idempotency.NATIVE, window_s=100.0, timeout_s=80.0)
        adapter = Scripted(slowly, slowly, slowly, limits=limits)
        await live(bench, adapter, seconds=400.0)
        assert len(adapter.arrivals) == 2
        assert await bench.states() == {"e1": "unknown"}

    play(tmp_path, scene)


def test_what_was_done_is_recorded_and_never_sent_again(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), run_id="r1")
        adapter = unclear(LOOKUP, Succeeded({"n": 1}, "r9"))
        await live(bench, adapter)
        row = await bench.effect("e1")
        assert (row["state"], row["result"], row["receipt"]) == ("delivered", {"n": 1}, "r9")
        assert await bench.outcomes(REF) == ["delivered"]
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_what_failed_there_has_failed_with_its_reason(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        await live(bench, unclear(LOOKUP, FailedThere("no such branch")))
        row = await bench.effect("e1")
        assert (row["state"], row["error"]) == ("failed", "no such branch")

    play(tmp_path, scene)


def test_what_is_under_way_is_waited_for(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        adapter = unclear(LOOKUP, *[Running("job-1")] * 8, Succeeded())
        await live(bench, adapter, seconds=900.0)
        assert await bench.states() == {"e1": "delivered"}
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_what_is_absent_is_only_sent_again_when_it_cannot_be_on_its_way_any_more(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        began = bench.clock.now()
        again: list[float] = []

        async def second(sending: Sending) -> SendResult:
            again.append(bench.clock.now() - began)
            return Delivered("r")

        await intend(bench.store, effect("e1"))
        adapter = Scripted(Unknown("no answer"), second, limits=LOOKUP)
        adapter.found = [Absent()] * 50
        await live(bench, adapter, seconds=120.0)
        assert await bench.states() == {"e1": "delivered"}
        assert again[0] > LOOKUP.timeout_s + 30.0

    play(tmp_path, scene)


def test_what_had_started_and_is_absent_is_asked_about(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        async def start(sending: Sending) -> SendResult:
            await sending.started("job-1")
            return Unknown("no answer")

        await intend(bench.store, effect("e1", then="after"), run_id="r1")
        adapter = Scripted(start, limits=LOOKUP)
        adapter.found = [Absent()] * 50
        await live(bench, adapter, seconds=300.0)
        assert adapter.keys == ["e1"]
        assert await bench.outcomes(REF) == ["asked"]

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("policy", "state", "sends", "told"),
    [("ask", "unknown", 1, ["asked"]), ("resend", "delivered", 2, ["delivered"]), ("drop", "failed", 1, ["failed"])],
)
def test_what_nobody_can_tell_goes_by_the_declared_policy(
    tmp_path: Path, policy: str, state: str, sends: int, told: list[str]
) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after", on_unknown=policy), effect("e2"), run_id="r1")
        adapter = unclear(NONE)
        await live(bench, adapter)
        assert await bench.states() == {"e1": state, "e2": "delivered"}
        assert adapter.keys.count("e1") == sends
        assert await bench.outcomes(REF) == told
        assert (await bench.effect("e1"))["possible_duplicate"] == (policy == "resend")

    play(tmp_path, scene)


async def moved(claim: Claimed) -> Moved | None:
    return Moved({"commit": "def"})


def test_what_moved_and_was_surely_not_done_is_void_and_asked_anew(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", binds={"commit": "abc"}, approval="w0"))
        adapter = unclear(LOOKUP, *[Absent()] * 50)
        await live(bench, adapter, seconds=300.0, check=moved)
        assert await bench.states() == {"e1": "cancelled"}
        assert await bench.outcomes(REF) == ["void"]
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_what_moved_and_may_have_been_done_is_not_called_void(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", binds={"commit": "abc"}, approval="w0", then="after"), run_id="r1")
        adapter = unclear(LOOKUP, CannotTell(), Absent(), CannotTell(), Succeeded())
        await live(bench, adapter, seconds=300.0, check=moved)
        assert await bench.states() == {"e1": "delivered"}
        assert await bench.outcomes(REF) == ["delivered"]

    play(tmp_path, scene)


def test_what_moved_and_cannot_be_looked_up_is_asked_about(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", binds={"commit": "abc"}, approval="w0", then="after"), run_id="r1")
        adapter = unclear(NATIVE)
        await live(bench, adapter, check=moved)
        assert await bench.states() == {"e1": "unknown"}
        assert await bench.outcomes(REF) == ["asked"]
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_a_look_up_that_sees_the_world_changed_voids_it(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), run_id="r1")
        await live(bench, unclear(LOOKUP, Changed({"commit": "def"})))
        assert await bench.states() == {"e1": "cancelled"}
        assert await bench.outcomes(REF) == ["void"]

    play(tmp_path, scene)


async def hang(claim: Claimed) -> Moved | None:
    await asyncio.sleep(1e9)
    return None


async def broken(claim: Claimed) -> Moved | None:
    raise KeyError("commit")


@pytest.mark.parametrize("check", [hang, broken])
def test_facts_that_cannot_be_looked_at_hold_up_no_other_effect(
    tmp_path: Path, check: Callable[[Claimed], Awaitable[Moved | None]]
) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("odd", binds={"commit": "abc"}), effect("e1", "l1"), effect("e2", "l2"))
        adapter = unclear(NATIVE, times=3)
        await live(bench, adapter, check=check, seconds=100.0)
        assert await bench.states() == {"odd": "unknown", "e1": "delivered", "e2": "delivered"}
        assert adapter.keys.count("odd") == 1

    play(tmp_path, scene)


def test_a_look_up_that_fails_is_made_again_and_given_up_in_the_end(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), run_id="r1")
        adapter = unclear(LOOKUP, *[RuntimeError("down")] * 100)
        await live(bench, adapter, seconds=900.0, settings=ReconcilerSettings(looks_max=5))
        assert await bench.states() == {"e1": "unknown"}
        assert await bench.outcomes(REF) == ["asked"]
        assert adapter.looked == 5
        assert adapter.keys == ["e1"]

    play(tmp_path, scene)


def test_facts_that_can_never_be_looked_at_are_given_up_in_the_end(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", binds={"commit": "abc"}, then="after"), run_id="r1")
        settings = ReconcilerSettings(looks_max=5)
        await live(bench, unclear(NATIVE), check=broken, seconds=900.0, settings=settings)
        assert await bench.outcomes(REF) == ["asked"]

    play(tmp_path, scene)


def test_a_clock_that_is_set_forward_does_not_have_it_sent_again_while_it_is_on_its_way(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        adapter = unclear(LOOKUP, *[Absent()] * 50)

        async def set_forward() -> None:
            await asyncio.sleep(2.0)
            bench.clock.jump(3_600.0)

        task = asyncio.create_task(set_forward())
        await live(bench, adapter, seconds=30.0)
        await task
        assert adapter.keys == ["e1"]
        await live(bench, adapter, seconds=120.0)
        assert adapter.keys == ["e1", "e1"]

    play(tmp_path, scene)
