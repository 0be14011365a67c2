"""Release: looks at the commit, plans, asks a person, deploys, and verifies.

Try it, with a folder as the platform:

    mkdir -p release && echo a1b2c3 > release/HEAD
    turnline dev examples/03_release.py        # say "deploy" at /chat, and answer the question there

Then try to break it. Write another commit into `release/HEAD` before you answer: the approval is void, and you are
asked again. Kill the process while it deploys: the deployment is looked up by its key before anything is sent again.
"""

import asyncio
import os
import time
from pathlib import Path

from pydantic import BaseModel

from turnline import (
    Absent,
    Agent,
    App,
    Changed,
    Decision,
    Failed,
    Outcome,
    Running,
    Session,
    Succeeded,
    ToolCall,
    ToolFailed,
    Turn,
)

ROLLOUT_S = 5.0
POLL_S = 0.2


class Deployment(BaseModel):
    """A deployment, as the platform tells of it. `id` is the platform's own."""

    id: str
    commit: str
    begun: float
    status: str = "running"


class Platform:
    """A platform that is a folder: `HEAD` holds the newest commit, `LIVE` the one that is served, and `deployments` a
    file for each idempotency key. A deployment goes on by itself, whoever began it, and ends after `ROLLOUT_S`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def head(self) -> str:
        """The newest commit."""
        return await asyncio.to_thread(_read, self.folder / "HEAD")

    async def live(self) -> str:
        """The commit that is served."""
        return await asyncio.to_thread(_read, self.folder / "LIVE")

    async def start(self, commit: str, key: str) -> Deployment:
        """Begin a deployment. The same key is begun once."""
        job = Deployment(id=f"job-{key[:8]}", commit=commit, begun=time.time())
        return await self.find(key) or await self.write(key, job)

    async def result(self, key: str) -> Deployment:
        """Wait until it has ended."""
        job = await self.find(key)
        while job is None or job.status == "running":
            await asyncio.sleep(POLL_S)
            job = await self.find(key)
        return job

    async def find(self, key: str) -> Deployment | None:
        """The deployment of a key, or None."""
        text = await asyncio.to_thread(_read, self._path(key))
        job = Deployment.model_validate_json(text) if text else None
        if job is None or job.status != "running" or time.time() < job.begun + ROLLOUT_S:
            return job
        await asyncio.to_thread(_write, self.folder / "LIVE", job.commit)
        return await self.write(key, job.model_copy(update={"status": "succeeded"}))

    async def write(self, key: str, deployment: Deployment) -> Deployment:
        """Keep its state."""
        await asyncio.to_thread(_write, self._path(key), deployment.model_dump_json())
        return deployment

    def _path(self, key: str) -> Path:
        return self.folder / "deployments" / f"{key}.json"


platform = Platform(Path(os.environ.get("RELEASE_FOLDER", "release")))


class Release(BaseModel):
    """What is remembered of the releases of this session."""

    wish: str = ""
    plan: str = ""
    deployed: list[str] = []


release = Agent("release", state=Release)


@release.observer("commit")
async def head(session: Session[Release]) -> str:
    """Looked at again before an approval is used, and before the deployment is begun."""
    return await platform.head()


@release.on("message")
async def chat(turn: Turn[Release]) -> None:
    """Somebody wants a release."""
    turn.state.wish = turn.message.text
    await propose(turn)


async def propose(turn: Turn[Release]) -> None:
    """Look, plan, ask. The question is bound to the commit that it names."""
    commit = await turn.observe("commit")
    turn.goal(f"Release {commit}", acceptance=[f"the platform serves {commit}"])
    turn.state.plan = await turn.step(write_plan, turn.state.wish, commit)
    turn.phase("asking")
    turn.ask(f"{turn.state.plan} Deploy {commit}?", then=ship, binds=["commit"], expires="2h")


async def write_plan(wish: str, commit: str) -> str:
    """Where a model would be asked. Recorded once, and reused when the turn runs again."""
    return f"Plan for {wish!r}: roll {commit} out, then check what is served."


@release.continuation
async def ship(turn: Turn[Release], decision: Decision) -> None:
    """The person has decided, or did not in time, or decided about a commit that is not the newest any more."""
    match decision.status:
        case "approved":
            commit = turn.facts["commit"]
            turn.phase("deploying")
            turn.call(deploy, commit=commit, then=deployed)  # bound to the commit of the approval
            turn.reply(f"Deploying {commit}.")
        case "void":
            turn.reply(f"That approval is void: the commit is {decision.facts['commit']} now.")
            await propose(turn)
        case "expired":
            turn.phase("idle")
            turn.reply("Nobody answered in time; nothing was deployed.")
        case _:
            turn.phase("idle")
            turn.reply(f"Not deployed: {decision.by} said no.")


async def find_deployment(call: ToolCall, commit: str) -> Absent | Running | Succeeded | Failed | Changed:
    """What became of a deployment whose end nobody saw."""
    job = await platform.find(call.key)
    if job is None:
        newest = await platform.head()
        return Absent() if newest == commit else Changed({"commit": newest})
    match job.status:
        case "succeeded":
            return Succeeded(job, receipt=job.id)
        case "running":
            return Running(job.id)
        case status:
            return Failed(f"it is {status}")


async def cancel_deployment(call: ToolCall, commit: str) -> None:
    """How it would be undone; declared with the tool, and run only on request."""
    job = await platform.find(call.key)
    if job is not None:
        await platform.write(call.key, job.model_copy(update={"status": "cancelled"}))


@release.tool(lookup=find_deployment, compensate=cancel_deployment)
async def deploy(call: ToolCall, commit: str) -> Deployment:
    """Run by the relay, after the commit that decided on it."""
    job = await platform.start(commit, call.key)
    if job.commit != commit:
        raise ToolFailed(f"{job.id} deploys {job.commit}")
    await call.started(job.id)  # the platform's id is durable from here
    return await platform.result(call.key)


@release.continuation
async def deployed(turn: Turn[Release], outcome: Outcome[Deployment]) -> None:
    """The deployment has ended. Delivered is what the platform said; verified is what is served."""
    if not outcome.ok or outcome.result is None:
        turn.fail(outcome.error or outcome.status)
        turn.reply(f"Not deployed: {outcome.error or outcome.status}.")
        return
    commit = outcome.result.commit
    live = await turn.step(look_at_live)
    if live == commit:
        turn.state.deployed.append(commit)
        turn.reply(f"{commit} is live, and verified.")
        turn.complete()
    else:
        turn.reply(f"{outcome.result.id} has ended, but {live or 'nothing'} is served instead of {commit}.")
        turn.fail("not verified")


async def look_at_live() -> str:
    """What is served."""
    return await platform.live()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.is_file() else ""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


app = App(agents=[release])
