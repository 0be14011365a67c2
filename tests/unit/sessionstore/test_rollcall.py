"""The roll call: every session once, whatever happens meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

from sessionstore.errors import Damaged
from sessionstore.rollcall import every_session


class Listing:
    """`Reads.sessions` over a dict of updated times; `after_page` runs after each page."""

    def __init__(self, times: dict[str, float], after_page: Callable[[int], None] = lambda page: None) -> None:
        self.times = times
        self.after_page = after_page
        self.pages = 0
        self.limit_max = 0

    async def sessions(
        self, tenant: str | None, *, query: str = "", limit: int = 100, before: float | None = None
    ) -> list[dict[str, Any]]:
        found = sorted(((at, key) for key, at in self.times.items() if before is None or at < before), reverse=True)
        self.pages += 1
        self.limit_max = max(self.limit_max, limit)
        page = [{"tenant": "t", "session": key, "updated_at": at} for at, key in found[:limit]]
        self.after_page(self.pages)
        return page


async def called(listing: Any, page_rows_max: int) -> list[str]:
    return [head["session"] async for head in every_session(listing, None, page_rows_max=page_rows_max)]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 23])
async def test_each_session_comes_once(count: int) -> None:
    names = [f"s{n}" for n in range(count)]
    assert sorted(await called(Listing({name: float(n) for n, name in enumerate(names)}), 5)) == sorted(names)


@pytest.mark.parametrize("same", [3, 5, 6, 17])
async def test_sessions_of_one_instant_are_not_lost_at_the_edge_of_a_page(same: int) -> None:
    times = {f"s{n}": 7.0 for n in range(same)} | {"old": 1.0, "new": 9.0}
    assert sorted(await called(Listing(times), 5)) == sorted(times)


async def test_a_session_that_jumps_to_the_front_meanwhile_is_not_lost() -> None:
    times = {f"s{n}": float(n) for n in range(20)}

    def jump(page: int) -> None:
        if page == 1:
            times["s3"] = 100.0

    assert sorted(await called(Listing(times, jump), 5)) == sorted(times)


async def test_new_sessions_all_the_time_do_not_hold_it_for_ever() -> None:
    times = {"s0": 0.0}

    def grow(page: int) -> None:
        times[f"n{page}"] = 100.0 + page

    assert "s0" in await called(Listing(times, grow), 5)


async def test_pages_stay_small_while_times_differ() -> None:
    listing = Listing({f"s{n}": float(n) for n in range(50)})
    await called(listing, 5)
    assert listing.limit_max == 5


async def test_a_record_that_is_no_json_is_damage_with_a_hint() -> None:
    class Broken:
        async def sessions(self, tenant: str | None, **_: Any) -> list[dict[str, Any]]:
            raise ValueError("not JSON")

    with pytest.raises(Damaged) as caught:
        await called(Broken(), 5)
    assert "turnline verify KEY" in caught.value.hint
