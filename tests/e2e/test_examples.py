"""The numbered examples, run as a user would see them."""

import asyncio
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from aiohttp import web

from outbox.signing import sign_github, sign_standard_webhooks, signing_key
from outbox.webhook import SignedWebhook
from router.cron import CronLoop
from router.hooks import Hook, Refusal, decode, event_of
from sessionstore.event import Event
from tests.e2e.driving import EXAMPLES, Drive, driving, example
from tests.faults.devprocess import DevProcess
from turnline.doors import hooks_of
from turnline.settings import load_settings
from turnline.wiring import load_app, outgoing

PAYLOADS = Path(__file__).parents[1] / "data/github/payloads"
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
ECHO = "agent:echo/desk:1"
ISSUE = "agent:triage/github:Codertocat%2FHello-World/issue:1"
PULL = "agent:triage/github:Codertocat%2FHello-World/pr:2"
NEWS = "agent:digest/shared:news"
FILES = sorted(EXAMPLES.glob("0*.py"))


class Outside:
    """A server on loopback that takes everything and remembers it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._take)
        self._runner = web.AppRunner(application, access_log=None)
        self.url = ""

    async def __aenter__(self) -> "Outside":
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        raw = await request.read()
        self.calls.append((request.method, request.path, orjson.loads(raw) if raw else None))
        self.headers.append(dict(request.headers))
        return web.json_response({"id": 4711}, status=self.status)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_example_is_loaded_by_the_command_line(path: Path) -> None:
    app = load_app(str(path))
    assert [agent.name for agent in app.agents] == [path.stem.split("_")[-1]]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_example_is_typed(path: Path) -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(path)],
        cwd=EXAMPLES.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_example_needs_nothing_of_ours_but_the_front_door(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    imported = {line.split()[1].partition(".")[0] for line in text.split("\n") if line.startswith(("from ", "import "))}
    assert imported <= {"turnline", "pydantic"} | sys.stdlib_module_names


def test_the_first_example_has_fifteen_lines_at_most() -> None:
    assert len(FILES[0].read_text(encoding="utf-8").splitlines()) <= 15


async def test_the_echo_answers_in_order_and_counts_on_after_a_crash(tmp_path: Path) -> None:
    async with driving(tmp_path, example("01_echo").app) as drive:
        for text in ("one", "two"):
            await drive.say(ECHO, text)
        await drive.heard("2: two")
        await drive.crash()
        await drive.start(example("01_echo").app)
        await drive.say(ECHO, "three")
        await drive.heard("3: three")
        assert drive.chat.texts == ["1: one", "2: two", "3: three"]


async def test_dev_runs_the_echo(tmp_path: Path) -> None:
    process = DevProcess(tmp_path, FILES[0].read_text(encoding="utf-8"))
    try:
        await process.start()
        assert await process.terminate() == 0
    finally:
        await process.close()


def delivered(hook: Hook, name: str) -> Event:
    """A recorded payload as GitHub signs and sends it, decoded by the hook's door."""
    body = (PAYLOADS / name).read_bytes()
    headers = {
        "X-GitHub-Event": name.partition(".")[0],
        "X-GitHub-Delivery": f"delivery-of-{name}",
        "Content-Type": "application/json",
        "X-Hub-Signature-256": sign_github(body, hook.secrets[0]),
    }
    return decoded(hook, headers, body)


def decoded(hook: Hook, headers: dict[str, str], body: bytes) -> Event:
    """What a door makes of a request."""
    delivery = decode(hook, headers, {}, body, datetime.now(ZoneInfo("UTC")).timestamp())
    assert not isinstance(delivery, Refusal), delivery
    event = event_of(hook, delivery, "default", hook.agent)
    assert not isinstance(event, Refusal), event
    return event


class Triage:
    """The triage example between a GitHub that sends and one that is called."""

    def __init__(self, github: Outside, folder: Path, patch: pytest.MonkeyPatch) -> None:
        patch.setenv("GITHUB_API_URL", github.url)
        patch.setenv("GITHUB_WEBHOOK_SECRET", "It's a Secret to Everybody")
        patch.setenv("GITHUB_AUTHORIZATION", "Bearer of-the-test")
        patch.setenv("TURNLINE_EGRESS_ALLOW", "127.0.0.1")
        text = (EXAMPLES / "02_github_triage.toml").read_text().replace("https://api.github.com", github.url)
        (folder / "turnline.toml").write_text(text)
        settings = load_settings(folder / "turnline.toml")
        self.hook = hooks_of(settings, ("triage",))["github"]
        self.app = example("02_github_triage").app
        self.outgoing = outgoing(settings, lambda: 0.0)


async def test_an_issue_is_labelled_once_by_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Outside() as github:
        triage = Triage(github, tmp_path, monkeypatch)
        async with driving(tmp_path, triage.app, *triage.outgoing) as drive:
            await drive.put(delivered(triage.hook, "issues.opened.payload.json"))
            await drive.put(delivered(triage.hook, "issues.opened.payload.json"))
            await drive.at_rest()
            await drive.put(delivered(triage.hook, "issues.edited.payload.json"))
            await drive.at_rest()
            session = await drive.session(ISSUE)
    path = "/repos/Codertocat/Hello-World/issues/1/labels"
    assert github.calls == [("POST", path, {"labels": ["bug", "documentation"]})]
    assert github.headers[0]["Authorization"] == "Bearer of-the-test"
    assert session["record"]["state"]["labels"] == ["bug", "documentation"]
    assert session["record"]["goal"]["aim"] == "Triage #1: Spelling error in the README file"


async def test_an_empty_issue_is_asked_about_until_its_reporter_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Outside() as github:
        triage = Triage(github, tmp_path, monkeypatch)
        async with driving(tmp_path, triage.app, *triage.outgoing) as drive:
            await drive.put(delivered(triage.hook, "issues.opened.with-empty-body.payload.json"))
            await drive.at_rest()
            assert (await drive.session(ISSUE))["record"]["state"]["asked"] == 4711
            await drive.put(delivered(triage.hook, "issue_comment.created.payload.json"))
            await drive.at_rest()
            assert (await drive.session(ISSUE))["record"]["execution"]["phase"] == "labelled"
    assert [(method, path.rpartition("issues/1/")[2]) for method, path, _ in github.calls] == [
        ("POST", "labels"),
        ("POST", "comments"),
        ("DELETE", "labels/needs-info"),
    ]


async def test_a_comment_that_github_refuses_is_told_in_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Outside() as github:
        github.status = 403
        triage = Triage(github, tmp_path, monkeypatch)
        async with driving(tmp_path, triage.app, *triage.outgoing) as drive:
            await drive.put(delivered(triage.hook, "issues.opened.with-empty-body.payload.json"))
            await drive.at_rest()
            assert (await drive.session(ISSUE))["record"]["execution"]["phase"] == "could not ask: HTTP 403"


async def test_a_pull_request_has_a_session_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Outside() as github:
        triage = Triage(github, tmp_path, monkeypatch)
        async with driving(tmp_path, triage.app, *triage.outgoing) as drive:
            for name in ("pull_request.opened", "pull_request.synchronize", "pull_request_review.submitted"):
                await drive.put(delivered(triage.hook, f"{name}.payload.json"))
            await drive.at_rest()
            assert (await drive.session(PULL))["record"]["state"]["labels"] == ["documentation"]
    path = "/repos/Codertocat/Hello-World/issues/2/labels"
    assert github.calls == [("POST", path, {"labels": ["documentation"]})]


def news(hook: Hook, number: int, title: str, at: int) -> Event:
    """A piece of news as its sender signs it."""
    body = orjson.dumps({"type": "message", "title": title})
    name = f"news-{number}"
    keys = [signing_key(secret) for secret in hook.secrets]
    headers = {
        "webhook-id": name,
        "webhook-timestamp": str(at),
        "webhook-signature": sign_standard_webhooks(body, name, at, keys),
    }
    return decoded(hook, headers, body)


async def digest_time(drive: Drive, cron: CronLoop) -> None:
    """It is six o'clock on the next working day."""
    [job] = await drive.store.cron.jobs()
    assert job.next_due is not None
    drive.clock.until(job.next_due + 1)
    await cron.fire_due()
    await drive.at_rest()


async def test_the_news_of_the_day_are_posted_once_at_six(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEWS_SECRET", SECRET)
    monkeypatch.setenv("DIGEST_SECRET", SECRET)
    monkeypatch.setenv("TURNLINE_EGRESS_ALLOW", "127.0.0.1")
    async with Outside() as reader:
        text = (EXAMPLES / "04_cron_digest.toml").read_text().replace("https://example.com", reader.url)
        (tmp_path / "turnline.toml").write_text(text)
        settings = load_settings(tmp_path / "turnline.toml")
        hook = hooks_of(settings, ("digest",))["news"]
        app = example("04_cron_digest").app
        webhook = next(x for x in outgoing(settings, lambda: 0.0) if isinstance(x, SignedWebhook))
        async with driving(tmp_path, app, webhook) as drive:
            cron = CronLoop(drive.store.cron, app.by_name(), drive.clock, tenant="default")
            await cron.declare()
            at = int(drive.clock.now())
            await asyncio.gather(*(drive.put(news(hook, n, f"Title {n}", at)) for n in range(3)))
            await drive.say(NEWS, "The roof is tight again")
            await drive.at_rest()
            collected = await drive.session(NEWS)
            await digest_time(drive, cron)
            await digest_time(drive, cron)  # nothing has come in since
            session = await drive.session(NEWS)
    assert collected["record"]["state"]["items"] == ["Title 0", "Title 1", "Title 2", "The roof is tight again"]
    [(method, path, body)] = reader.calls
    assert (method, path) == ("POST", "/digest")
    assert body["items"] == collected["record"]["state"]["items"]
    assert "webhook-signature" in {name.lower() for name in reader.headers[0]}
    assert session["record"]["state"] == {"items": [], "left_out": 0, "posted": 1}
    assert session["record"]["execution"]["phase"] == "posted"
