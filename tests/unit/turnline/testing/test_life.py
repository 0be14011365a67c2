"""A life: frozen it runs nothing and forgets nothing, ended it is gone at once."""

import asyncio

import pytest

from turnline.testing.life import Died, Life, current_life
from turnline.testing.virtualtime import run_virtually


def test_what_a_life_starts_belongs_to_it_and_the_rest_of_the_world_does_not() -> None:
    async def world() -> None:
        life = Life("a")

        async def inner() -> Life | None:
            return await asyncio.create_task(asyncio.to_thread(current_life))

        assert await life.run(inner()) is life
        assert current_life() is None

    run_virtually(world())


def test_a_frozen_life_runs_no_step_and_goes_on_in_order_with_what_became_due() -> None:
    seen: list[tuple[str, float]] = []

    async def at(seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        seen.append((name, round(asyncio.get_running_loop().time(), 3)))

    async def world() -> None:
        life = Life()
        for seconds, name in ((3.0, "third"), (1.0, "first"), (2.0, "second")):
            life.spawn(at(seconds, name))
        await asyncio.sleep(1.5)
        life.freeze()
        await asyncio.sleep(8.5)
        assert seen == [("first", 1.0)]
        life.thaw()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert seen == [("first", 1.0), ("second", 10.0), ("third", 10.0)]
        await life.end()

    run_virtually(world())


def test_a_timer_that_was_cancelled_before_the_thaw_does_not_ring_after_it() -> None:
    rung: list[str] = []

    async def world() -> None:
        life = Life()

        async def wait() -> None:
            loop = asyncio.get_running_loop()
            later = loop.call_later(2.0, rung.append, "late")
            loop.call_later(1.0, later.cancel)
            await asyncio.sleep(60.0)

        life.spawn(wait())
        await asyncio.sleep(0.5)
        life.freeze()
        await asyncio.sleep(10.0)
        life.thaw()
        await asyncio.sleep(1.0)
        assert rung == []
        await life.end()

    run_virtually(world())


def test_an_ended_life_is_cleared_away_in_no_time_however_it_clings() -> None:
    async def clinging() -> None:
        try:
            await asyncio.sleep(100.0)
        finally:
            await asyncio.sleep(100.0)

    async def world() -> None:
        life = Life()
        task = life.spawn(clinging())
        await asyncio.sleep(1.0)
        life.freeze()
        await life.end()
        assert task.done()
        assert asyncio.get_running_loop().time() == pytest.approx(1.0)

    run_virtually(world())


def test_who_waits_for_a_life_that_ends_is_told() -> None:
    async def world() -> None:
        life = Life()
        waiting = asyncio.create_task(life.run(asyncio.sleep(100.0)))
        await asyncio.sleep(1.0)
        await life.end()
        with pytest.raises(Died):
            await waiting

    run_virtually(world())
