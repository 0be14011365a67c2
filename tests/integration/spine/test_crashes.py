"""A crash on either side of every transaction of a whole release: nothing is lost, and nothing is done twice."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from outbox.adapter import Idempotency
from sessionstore.inbox import SessionRef
from tests.integration.spine.living import KEY, key
from turnline import Absent, Agent, App, Decision, Outcome, QueuePolicy, Succeeded, ToolCall, Turn
from turnline.testing import FakeChannel, World, crash_everywhere


class Release(BaseModel):
    log: list[str] = []


class Outside:
    """What the world outside has seen: deployments by key."""

    def __init__(self) -> None:
        self.done: dict[str, str] = {}

    def make_app(self) -> App:
        agent: Agent[Release] = Agent("a", state=Release)

        @agent.observer("commit")
        async def commit(session: Any) -> str:
            return "abc"

        async def find(call: ToolCall, commit: str) -> Any:
            return Succeeded(self.done[call.key]) if call.key in self.done else Absent()

        @agent.tool(lookup=find, timeout_s=5.0)
        async def deploy(call: ToolCall, commit: str) -> str:
            assert call.key not in self.done, "it was deployed twice"
            self.done[call.key] = commit
            return commit

        async def plan(text: str) -> str:
            return f"plan for {text}"

        @agent.on("message")
        async def chat(turn: Turn[Release]) -> None:
            turn.state.log.append(await turn.step(plan, turn.message.text))
            turn.reply("noted")
            if turn.message.text == "release":
                turn.ask("Deploy?", then=ship, binds=["commit"])

        @agent.continuation
        async def ship(turn: Turn[Release], decision: Decision) -> None:
            turn.state.log.append(decision.status)
            turn.call(deploy, commit=turn.facts["commit"], then=deployed)
            turn.reply("deploying")

        @agent.continuation
        async def deployed(turn: Turn[Release], outcome: Outcome[str]) -> None:
            turn.state.log.append(f"{outcome.status} {outcome.result}")
            turn.reply("deployed")
            turn.complete()

        return App(agents=[agent])


async def release(world: World) -> None:
    await world.say("release")
    await world.say("hello", to=key(2))
    await world.settle()
    await world.answer("approve")
    await world.say("more")
    await world.settle()


@pytest.mark.parametrize("idempotency", [Idempotency.NATIVE, Idempotency.LOOKUP])
def test_a_release_survives_a_crash_at_every_point(tmp_path: Path, idempotency: Idempotency) -> None:
    outside = Outside()

    async def check(world: World) -> None:
        channel = world.adapters["fake"]
        assert isinstance(channel, FakeChannel)
        assert sorted(channel.texts) == sorted(["noted", "Deploy?", "noted", "deploying", "deployed", "noted"])
        record = (await world.session(KEY))["record"]
        log = record["state"]["log"]
        assert sorted(log) == sorted(["plan for release", "approved", "delivered abc", "plan for more"])
        assert log.index("approved") < log.index("delivered abc")
        assert list(outside.done.values()) == ["abc"]
        transcript = await world.store.reads.transcript(SessionRef("default", KEY), limit=1_000)
        assert len([e for e in transcript if e["type"] == "message.in"]) == 2
        outside.done.clear()

    crashes = crash_everywhere(
        tmp_path,
        outside.make_app,
        release,
        check,
        make_adapters=lambda: [FakeChannel(idempotency=idempotency)],
    )
    assert crashes.visited == 2 * crashes.boundaries > 30


def test_collected_messages_survive_a_crash_at_every_point(tmp_path: Path) -> None:
    def make_app() -> App:
        agent: Agent[Release] = Agent("a", state=Release, queue=QueuePolicy("collect", quiet_s=1.0))

        async def plan(text: str) -> str:
            return text

        @agent.on("message")
        async def chat(turn: Turn[Release]) -> None:
            await turn.step(plan, turn.message.text)
            turn.state.log.extend(m.text for m in turn.messages)

        return App(agents=[agent])

    async def scenario(world: World) -> None:
        for n in range(6):
            await world.say(f"m{n}")
            await world.sleep(0.5)
        await world.settle()

    async def check(world: World) -> None:
        assert (await world.session(KEY))["record"]["state"]["log"] == [f"m{n}" for n in range(6)]

    crash_everywhere(tmp_path, make_app, scenario, check)
