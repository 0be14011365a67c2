"""The release example: a person's yes holds for one commit, and a deployment is done once, whatever dies meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sessionstore.inbox import SessionRef
from sessionstore.wait import Answered, NotOpen
from tests.e2e.driving import Drive, driving, example

KEY = "agent:release/desk:1"
TOOL = "tool:release.deploy"


class Scripted:
    """The example's own platform, held up or hurried on where a test says so."""

    def __init__(self, module: Any, folder: Path) -> None:
        self.real = module.Platform(folder)
        self.heads: list[str] = []
        self.begun: list[str] = []
        self.before_start = asyncio.Event()
        self.before_end = asyncio.Event()
        self.reached = asyncio.Event()
        self.before_start.set()
        self.before_end.set()
        module.ROLLOUT_S = 0.0
        module.platform = self

    def commit(self, *heads: str) -> None:
        """The newest commit, at each look; the last one stays."""
        self.heads = list(heads)

    async def head(self) -> str:
        return self.heads.pop(0) if len(self.heads) > 1 else self.heads[0]

    async def live(self) -> str:
        return str(await self.real.live())

    async def start(self, commit: str, key: str) -> Any:
        self.begun.append(key)
        await self._held(self.before_start)
        return await self.real.start(commit, key)

    async def result(self, key: str) -> Any:
        await self._held(self.before_end)
        return await self.real.result(key)

    async def find(self, key: str) -> Any:
        return await self.real.find(key)

    async def _held(self, gate: asyncio.Event) -> None:
        if not gate.is_set():
            self.reached.set()
        await gate.wait()


class Story:
    """A drive of the release example, and its platform."""

    def __init__(self, module: Any, platform: Scripted, drive: Drive) -> None:
        self.module = module
        self.platform = platform
        self.drive = drive

    async def asked(self) -> dict[str, Any]:
        """Ask for a release; the question."""
        await self.drive.say(KEY, "deploy")
        return await self.drive.question()

    async def approve(self) -> None:
        """Yes to the open question."""
        wait = await self.drive.question()
        assert isinstance(await self.drive.answer(wait["wait_id"], "approve"), Answered)

    async def restart(self) -> None:
        """The process dies and another one begins; the platform is where it was."""
        await self.platform.reached.wait()
        await self.drive.crash()
        self.platform.before_start.set()
        self.platform.before_end.set()
        await self.drive.start(self.module.app)

    async def status(self) -> str:
        return str((await self.drive.session(KEY))["status"])


@asynccontextmanager
async def telling(folder: Path) -> AsyncIterator[Story]:
    """The example at its start: the newest commit is a1."""
    module = example("03_release")
    platform = Scripted(module, folder / "platform")
    platform.commit("a1")
    async with driving(folder, module.app) as drive:
        yield Story(module, platform, drive)


async def test_an_approved_release_is_deployed_and_verified(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        wait = await story.asked()
        assert wait["question"] == "Plan for 'deploy': roll a1 out, then check what is served. Deploy a1?"
        assert wait["binds"] == {"commit": "a1"}
        assert await story.status() == "waiting"
        await story.approve()
        await story.drive.heard("a1 is live, and verified.")
        assert "Deploying a1." in story.drive.chat.texts
        assert await story.status() == "completed"
        assert await story.platform.live() == "a1"


async def test_two_answers_to_one_question_deploy_once_and_the_second_is_told(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        wait = await story.asked()
        first, second = await asyncio.gather(
            story.drive.answer(wait["wait_id"], "approve"), story.drive.answer(wait["wait_id"], "reject")
        )
        assert isinstance(first, Answered)
        assert isinstance(second, NotOpen)
        assert second.answer == "approve"
        await story.drive.heard("verified")
        assert len(story.platform.begun) == 1


async def test_a_rejected_release_deploys_nothing_even_when_the_commit_has_moved(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        wait = await story.asked()
        story.platform.commit("b2")
        await story.drive.answer(wait["wait_id"], "reject")
        await story.drive.heard("Not deployed: bob said no.")
        assert story.platform.begun == []


async def test_a_release_that_nobody_answers_expires(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        wait = await story.asked()
        story.drive.clock.later(2 * 3600 + 1)
        await story.drive.heard("Nobody answered in time; nothing was deployed.")
        assert isinstance(await story.drive.answer(wait["wait_id"], "approve"), NotOpen)
        assert story.platform.begun == []


async def test_an_approval_of_a_commit_that_has_moved_is_void_and_asked_again(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        first = await story.asked()
        story.platform.commit("b2")
        await story.drive.answer(first["wait_id"], "approve")
        await story.drive.heard("That approval is void: the commit is b2 now.")
        second = await story.drive.question()
        assert second["binds"] == {"commit": "b2"}
        assert second["question"].endswith("Deploy b2?")
        approvals = (await story.drive.session(KEY))["record"]["control"]["approvals"]
        assert approvals[first["wait_id"]]["status"] == "void"
        assert story.platform.begun == []
        await story.approve()
        await story.drive.heard("b2 is live, and verified.")


async def test_a_commit_that_moves_before_the_first_byte_cancels_the_deployment_and_asks_again(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        first = await story.asked()
        # Looked at when the answer comes, and again when the relay is about to send.
        story.platform.commit("a1", "b2")
        await story.drive.answer(first["wait_id"], "approve")
        cancelled = await story.drive.effect(TOOL, "cancelled")
        second = await story.drive.question()
        assert story.platform.begun == []
        assert cancelled["attempts"] == 0
        assert second["binds"] == {"commit": "b2"}
        assert "commit is now 'b2'" in second["question"]
        await story.approve()
        await story.drive.heard("b2 is live, and verified.")


async def test_after_a_crash_a_deployment_that_never_began_is_sent_again_under_its_key(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        story.platform.before_start.clear()
        await story.asked()
        await story.approve()
        await story.restart()
        await story.drive.heard("a1 is live, and verified.")
        assert len(story.platform.begun) == 2
        assert len({*story.platform.begun}) == 1


async def test_after_a_crash_a_deployment_that_runs_is_waited_for(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        story.module.ROLLOUT_S = 3_600.0
        story.platform.before_end.clear()
        await story.asked()
        await story.approve()
        await story.restart()
        [key] = story.platform.begun
        running = await looked_at(story, 2)
        assert running["state"] == "unknown"
        assert running["external_id"] == f"job-{key[:8]}"
        story.module.ROLLOUT_S = 0.0
        await story.drive.heard("a1 is live, and verified.")
        assert story.platform.begun == [key]


async def test_after_a_crash_a_deployment_that_has_ended_is_recorded_and_not_repeated(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        story.platform.before_end.clear()
        await story.asked()
        await story.approve()
        await story.platform.reached.wait()
        [key] = story.platform.begun
        assert (await story.platform.real.result(key)).status == "succeeded"
        await story.restart()
        await story.drive.heard("a1 is live, and verified.")
        assert story.platform.begun == [key]


async def test_after_a_crash_a_moved_commit_voids_what_never_began(tmp_path: Path) -> None:
    async with telling(tmp_path) as story:
        story.platform.before_start.clear()
        await story.asked()
        await story.approve()
        await story.platform.reached.wait()
        story.platform.commit("b2")
        await story.restart()
        second = await story.drive.question()
        assert second["binds"] == {"commit": "b2"}
        assert len(story.platform.begun) == 1
        assert await story.platform.live() == ""


@pytest.mark.parametrize("answer", ["reject", "approve"])
async def test_the_transcript_tells_why_a_turn_ran(tmp_path: Path, answer: str) -> None:
    async with telling(tmp_path) as story:
        wait = await story.asked()
        await story.drive.answer(wait["wait_id"], answer)
        await story.drive.heard("verified" if answer == "approve" else "said no")
        events = await story.drive.store.reads.transcript(SessionRef("default", KEY))
        [closed] = [event["body"] for event in events if event["type"] == "wait.closed"]
        assert (closed["by"], closed["status"]) == ("bob", "approved" if answer == "approve" else "rejected")


async def looked_at(story: Story, times: int) -> dict[str, Any]:
    """Wait until the deployment's end was looked for so often."""
    found: dict[str, Any] = {}

    async def often() -> bool:
        found.update(await story.drive.effect(TOOL, "unknown"))
        return int(found["checks"]) >= times

    await story.drive.until(often)
    return found
