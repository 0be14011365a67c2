"""Rewind and fork of living sessions: what goes back, what stays done, what is asked and told again."""

from pathlib import Path
from typing import Any

import pytest

from sessionstore.errors import Conflict
from sessionstore.history import point_at
from sessionstore.inbox import SessionRef
from sessionstore.verify import verify_session
from tests.integration.spine.living import KEY, channel, live, state, texts
from tests.integration.spine.operated import FORK, REF, closings, counting, operator, stuck
from turnline import Idempotency
from turnline.testing import FakeChannel, World


def test_a_rewind_goes_back_and_can_be_rewound(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        for text in ("one", "two", "three"):
            await world.say(text)
            await world.settle()
        first = (await closings(world))[0]
        shown = await operator(world).rewind(REF, "ann", first, dry_run=True)
        assert shown.preview is not None
        assert shown.preview.seen == ("two", "three")
        assert shown.preview.stays == ("two!", "three!")
        assert (await state(world))["seen"] == ["one", "two", "three"]
        before = (await world.session(KEY))["seq"]
        await operator(world).rewind(REF, "ann", first)
        assert (await state(world))["seen"] == ["one"]
        await world.say("four")
        await world.settle()
        assert (await state(world))["seen"] == ["one", "four"]
        await operator(world).rewind(REF, "ann", before)
        assert (await state(world))["seen"] == ["one", "two", "three"]
        assert (await verify_session(world.store.reads, REF)).agrees
        assert texts(world) == ["one!", "two!", "three!", "four!"]

    live(tmp_path, counting(), life)


def test_a_rewind_asks_again_and_tells_an_outcome_again(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("start")
        await world.sleep(200)
        assert texts(world)[-1] == "ended delivered"
        await world.answer("approved")
        await world.sleep(10)
        assert texts(world)[-1] == "decided"
        first = (await closings(world))[0]
        done = await operator(world).rewind(REF, "ann", first)
        assert done.preview is not None
        assert done.preview.asked_again == ("Sure?",)
        await world.sleep(10)
        assert texts(world).count("ended delivered") == 2
        assert len([e for e in await world.store.reads.effects("default") if e["adapter"] == "tool:a.slow"]) == 1
        await world.answer("approved")
        await world.sleep(10)
        assert texts(world).count("decided") == 2
        await world.sleep(7200)
        assert texts(world).count("rang") == 1

    live(tmp_path, stuck(), life)


def test_a_rewind_withdraws_what_was_not_sent_yet(tmp_path: Path) -> None:
    class Closed(FakeChannel):
        open = False

        async def send(self, sending: Any) -> Any:
            if not self.open:
                raise ConnectionError("closed")
            return await super().send(sending)

    async def life(world: World) -> None:
        shut = channel(world)
        assert isinstance(shut, Closed)
        shut.open = True
        await world.say("one")
        await world.settle()
        shut.open = False
        await world.say("two")
        await world.sleep(1)
        done = await operator(world).rewind(REF, "ann", (await closings(world))[0])
        assert len(done.withdrawn) == 1
        shut.open = True
        await world.sleep(3600)
        await world.say("three")
        await world.settle()
        assert texts(world) == ["one!", "three!"]

    live(tmp_path, counting(), life, adapters=[Closed(idempotency=Idempotency.LOOKUP)])


def test_a_fork_goes_its_own_way_and_the_original_is_untouched(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        for text in ("one", "two"):
            await world.say(text)
            await world.settle()
        before = await world.store.reads.transcript(REF, limit=1_000)
        first = (await closings(world))[0]
        await operator(world).fork(REF, "ann", first, FORK)
        with pytest.raises(Conflict):
            await operator(world).fork(REF, "ann", first, FORK)
        await world.say("other", to=FORK)
        await world.settle()
        assert (await state(world, FORK))["seen"] == ["one", "other"]
        assert (await state(world))["seen"] == ["one", "two"]
        assert await world.store.reads.transcript(REF, limit=1_000) == before
        assert texts(world) == ["one!", "two!", "other!"]
        assert (await point_at(world.store.reads, SessionRef("default", FORK), first)).record["state"]["seen"] == [
            "one"
        ]

    live(tmp_path, counting(), life)


def test_a_fork_asks_its_own_question_and_is_not_left_waiting_for_another_sessions_effect(tmp_path: Path) -> None:
    async def life(world: World) -> None:
        await world.say("start")
        await world.sleep(10)
        await operator(world).fork(REF, "ann", (await closings(world))[0], FORK)
        await world.sleep(20)
        fork = await world.session(FORK)
        assert sorted(i["kind"] for i in fork["record"]["execution"]["awaited"].values()) == ["approval", "timer"]
        assert "ended cancelled" in [
            row["body"]["text"]
            for row in await world.store.reads.transcript(SessionRef("default", FORK), limit=1_000)
            if row["type"] == "message.out"
        ]
        await world.sleep(200)
        assert len([e for e in await world.store.reads.effects("default") if e["adapter"] == "tool:a.slow"]) == 1

    live(tmp_path, stuck(), life)
