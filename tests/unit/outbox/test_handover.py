"""What a relay takes straight from a commit: only what its very address does once for a key."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

from outbox.adapter import Idempotency, Limits
from outbox.relay import Relay, RelaySettings
from sessionstore.clock import SystemClock
from sessionstore.effect import Effect
from turnline.testing import FakeChannel


class ByEndpoint(FakeChannel):
    """Promises that differ from one address to the next, as configured endpoints do."""

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        return Limits(Idempotency(target["class"]))


def effect(name: str, class_: str, adapter: str = "fake") -> Effect:
    return Effect(name, adapter, lane=name, target={"class": class_}, body={})


def relay(**settings: Any) -> Relay:
    return Relay(
        _NoQueue(),  # type: ignore[arg-type]
        {"fake": ByEndpoint()},
        SystemClock(),
        Random(7),
        settings=RelaySettings(**settings),
    )


class _NoQueue:
    async def settle(self, settlements: Sequence[Any]) -> list[bool]:
        return []

    async def mark(self, claims: Sequence[Any]) -> list[bool]:
        return []


async def test_only_addresses_that_do_a_key_once_are_handed_over() -> None:
    effects = [effect("a", "native"), effect("b", "none"), effect("c", "lookup"), effect("d", "native", "elsewhere")]
    taken = relay().hand_over(effects)
    assert taken is not None
    assert taken.effect_ids == {"a"}


@pytest.mark.parametrize("effects", [[], [effect("b", "none")]])
async def test_nothing_is_claimed_where_nothing_may_be(effects: list[Effect]) -> None:
    assert relay().hand_over(effects) is None


async def test_a_relay_without_room_or_that_stops_takes_nothing() -> None:
    two = [effect("a", "native"), effect("b", "native")]
    assert relay(sends_max=1).hand_over(two) is None
    stopped = relay()
    stopped.stop()
    assert stopped.hand_over(two) is None
