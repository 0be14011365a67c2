"""What an earlier attempt may have done is never said to be undone: not failed, not expired, not asked anew."""

from pathlib import Path
from typing import Any

import pytest

from outbox.adapter import Idempotency, Limits, NotSent, Rejected, SendResult, Unknown
from outbox.relay import Moved
from sessionstore.effect import Claimed
from tests.conformance.samples import REF, effect, intend
from tests.unit.consumers.test_reconciler import NATIVE, NONE, live, play
from tests.unit.outbox.relaying import Bench, Scripted, taking
from turnline.testing.virtualtime import STARTS_AT


def unclear_then(*then: SendResult, limits: Limits = NATIVE) -> Scripted:
    return Scripted(Unknown("no answer"), *then, limits=limits)


@pytest.mark.parametrize("then", [NotSent("refused"), NotSent("bad URL", permanent=True)])
def test_no_attempt_left_says_nothing_about_the_one_that_nobody_answered(tmp_path: Path, then: SendResult) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), effect("e2"), run_id="r1")
        limits = Limits(idempotency=Idempotency.NATIVE, timeout_s=10.0, attempts_max=3)
        await live(bench, unclear_then(then, then, limits=limits), seconds=120.0)
        assert await bench.states() == {"e1": "unknown", "e2": "delivered"}
        assert await bench.outcomes(REF) == ["asked"]

    play(tmp_path, scene)


def test_no_time_left_says_nothing_about_it_either(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after", expires_at=STARTS_AT + 30), run_id="r1")
        adapter = Scripted(taking(40.0, Unknown("no answer")), limits=Limits(Idempotency.NATIVE, timeout_s=50.0))
        await live(bench, adapter, seconds=120.0)
        assert adapter.keys == ["e1"]
        assert await bench.outcomes(REF) == ["asked"]

    play(tmp_path, scene)


def test_a_receiver_that_does_one_key_once_answers_for_all_attempts(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after"), run_id="r1")
        await live(bench, unclear_then(Rejected("HTTP 422")))
        assert await bench.outcomes(REF) == ["failed"]

    play(tmp_path, scene)


def test_a_no_to_a_declared_second_try_says_nothing_about_the_first(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", then="after", on_unknown="resend"), run_id="r1")
        limits = Limits(timeout_s=10.0, attempts_max=2)
        await live(bench, unclear_then(Rejected("HTTP 422"), limits=limits))
        assert await bench.outcomes(REF) == ["asked"]

    play(tmp_path, scene)


def test_facts_that_move_before_it_is_sent_again_do_not_have_it_approved_a_second_time(tmp_path: Path) -> None:
    looks = 0

    async def check(claim: Claimed) -> Moved | None:
        nonlocal looks
        looks += 1
        return Moved({"commit": "def"}) if looks > 1 else None

    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", binds={"commit": "abc"}, approval="w0", then="after"), run_id="r1")
        await live(bench, unclear_then(), relay_check=check, check=check)
        assert await bench.outcomes(REF) == ["asked"]

    play(tmp_path, scene)


def test_what_was_given_up_as_unclear_is_sent_again_as_a_possible_duplicate(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1", on_unknown="drop"))
        adapter = unclear_then(limits=NONE)
        await live(bench, adapter)
        assert await bench.states() == {"e1": "failed"}
        await bench.store.operations.resend("e1", "op")
        await live(bench, adapter)
        found: dict[str, Any] = await bench.effect("e1")
        assert (found["state"], found["possible_duplicate"]) == ("delivered", True)

    play(tmp_path, scene)


def test_what_surely_failed_is_sent_again_without_that_mark(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await intend(bench.store, effect("e1"))
        adapter = Scripted(Rejected("HTTP 422"), limits=NONE)
        await live(bench, adapter)
        await bench.store.operations.resend("e1", "op")
        await live(bench, adapter)
        found = await bench.effect("e1")
        assert (found["state"], found["possible_duplicate"]) == ("delivered", False)

    play(tmp_path, scene)
