"""An orderly stop has a bound: no handler, however it hangs, keeps the process or its data folder."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from tests.faults.devprocess import TOKEN, DevProcess

HANGING = """
import threading
from pathlib import Path

from turnline import Agent, App, Turn

FOLDER = Path(__file__).parent
agent = Agent("hanging", timeout_s=600.0)

def begun(turn: Turn) -> None:
    (FOLDER / f"begun-{turn.message.text}").touch()

@agent.on("message")
async def on_the_loop(turn: Turn) -> None:
    begun(turn)
    if (FOLDER / "free").exists():
        turn.reply("done")
        return
    threading.Event().wait(300)

@agent.on("threaded")
def in_a_thread(turn: Turn) -> None:
    begun(turn)
    if not (FOLDER / "free").exists():
        threading.Event().wait(300)
    turn.reply("done")

app = App(agents=[agent])
"""

pytestmark = pytest.mark.timeout(90)


async def post(process: DevProcess, name: str, type_: str) -> None:
    body = {"id": name, "source": "test", "type": type_, "data": {"text": name}}
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(f"{process.url}/v1/events", json=body) as response,
    ):
        assert response.status == 202


async def appears(path: Path) -> None:
    while not path.exists():
        await asyncio.sleep(0.02)


@asynccontextmanager
async def hanging(folder: Path, name: str, type_: str, **environment: str) -> AsyncIterator[DevProcess]:
    """A server with a handler that hangs, and the event that it hangs on."""
    process = DevProcess(folder, HANGING, **environment)
    try:
        await process.start()
        posting = asyncio.ensure_future(post(process, name, type_))  # its answer may be held up too
        await appears(folder / f"begun-{name}")
        posting.cancel()
        yield process
    finally:
        await process.close()


async def test_a_handler_that_hangs_in_a_thread_does_not_hold_the_exit_up(tmp_path: Path) -> None:
    async with hanging(tmp_path, "one", "threaded", TURNLINE_DRAIN_S="0.5") as process:
        os.kill(process.pid, signal.SIGTERM)
        async with asyncio.timeout(15):
            assert await process.ended() == 0
        assert "process.cut_off" in process.log.read_text()
        (tmp_path / "begun-one").unlink()
        (tmp_path / "free").touch()
        await process.start()
        async with asyncio.timeout(30):
            await appears(tmp_path / "begun-one")  # the turn was not lost: it runs again


async def test_a_second_signal_ends_a_process_whose_event_loop_is_blocked(tmp_path: Path) -> None:
    async with hanging(tmp_path, "one", "message") as process, asyncio.timeout(15):
        os.kill(process.pid, signal.SIGINT)
        ending = asyncio.ensure_future(process.ended())
        while not (await asyncio.wait((ending,), timeout=0.2))[0]:  # two that come at once may count as one
            os.kill(process.pid, signal.SIGINT)
        assert await ending == 130
