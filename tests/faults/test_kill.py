"""Kill -9 at random moments: nothing accepted is lost, nothing is done twice unnoticed."""

import asyncio
import os
import random
from collections import defaultdict
from pathlib import Path

import aiohttp
import pytest

from sessionstore.audit import audit
from sessionstore.clock import SystemClock
from sessionstore.sqlite.store import SqliteStore
from sessionstore.verify import verify_all
from tests.faults.devprocess import TOKEN, DevProcess
from tests.faults.receiver import Receiver

SESSIONS = 200
EVENTS = 2_000
KILLS = 20
SEED = int(os.environ.get("TURNLINE_FAULT_SEED", "0")) or random.randrange(1, 2**32)

APP = """
from pydantic import BaseModel
from turnline import Agent, App, Turn

class Count(BaseModel):
    n: int = 0

agent = Agent("count", state=Count)

@agent.on("message")
async def message(turn: Turn[Count]) -> None:
    turn.state.n += 1
    turn.request("sink", {"session": turn.session.key, "n": turn.state.n, "event": turn.event.id}, adapter="webhook")

app = App(agents=[agent])
"""

SETTINGS = """
[endpoints.sink]
url = "{url}"
secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
"""


async def feed(process: DevProcess, session: int, events: int, gate: asyncio.Semaphore, accepted: list[str]) -> None:
    """Send a session's events in order, each until it is accepted; a killed server is asked again."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=10)) as http:
        for i in range(events):
            body = {
                "id": f"s{session}-{i}",
                "source": "test",
                "type": "message",
                "session_key": f"agent:count/test:{session}",
                "data": {"text": f"event {i}"},
            }
            while True:
                async with gate:
                    status = await post(http, process.url, body)
                if status == 202:
                    accepted.append(str(body["id"]))
                    break
                assert status in (0, 503), status
                await asyncio.sleep(0.05)


async def post(http: aiohttp.ClientSession, url: str, body: dict[str, object]) -> int:
    """The status, or 0 when there was no answer."""
    try:
        async with http.post(f"{url}/v1/events", json=body) as response:
            await response.read()
            return response.status
    except (aiohttp.ClientError, TimeoutError):
        return 0


async def kill_now_and_then(process: DevProcess, rng: random.Random) -> None:
    """Twenty kills, each after a random moment of work."""
    for _ in range(KILLS):
        await asyncio.sleep(rng.uniform(0.05, 0.9))
        await process.kill()
        await process.start()


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_two_thousand_events_survive_twenty_kills(tmp_path: Path) -> None:
    print(f"TURNLINE_FAULT_SEED={SEED}")
    rng = random.Random(SEED)
    async with Receiver() as receiver:
        process = DevProcess(tmp_path, APP, SETTINGS.format(url=receiver.url))
        try:
            await process.start()
            accepted = await run(process, rng)
            await receiver.until(EVENTS, timeout_s=90)
            assert await process.terminate() == 0
        finally:
            await process.close()
    assert sorted(accepted) == sorted({*accepted})
    check_receiver(receiver)
    await check_store(tmp_path)


async def run(process: DevProcess, rng: random.Random) -> list[str]:
    """All events accepted, while the process is killed."""
    accepted: list[str] = []
    # Few at a time, so that there is work left for the last kill.
    gate = asyncio.Semaphore(4)
    feeding = [feed(process, s, EVENTS // SESSIONS, gate, accepted) for s in range(SESSIONS)]
    await asyncio.gather(kill_now_and_then(process, rng), *feeding)
    return accepted


def check_receiver(receiver: Receiver) -> None:
    """Each session has replies 1..k, in order, none missing, none under two keys."""
    replies: dict[object, list[object]] = defaultdict(list)
    for body in receiver.first.values():
        replies[body["session"]].append(body["n"])
    wanted = list(range(1, EVENTS // SESSIONS + 1))
    wrong = {key: numbers for key, numbers in replies.items() if numbers != wanted}
    assert not wrong
    assert len(replies) == SESSIONS
    assert len({body["event"] for body in receiver.first.values()}) == EVENTS


async def check_store(folder: Path) -> None:
    """The books balance, and each record is what its transcript says."""
    store = SqliteStore(folder / "data" / "turnline.sqlite", SystemClock())
    try:
        report = await audit(store.reads, None, None, None)
        assert report.balanced, list(report.findings())
        differences = [v async for v in verify_all(store.reads, None) if v.differences]
        assert not differences
    finally:
        await store.close()
