"""`turnline dev` as a newcomer runs it: start, stop, and what it says when it cannot start."""

import asyncio
import os
import signal
import socket
import stat
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.faults.devprocess import TOKEN, DevProcess

ECHO = """
from turnline import Agent, App, Turn

agent = Agent("echo")

@agent.on("message")
async def message(turn: Turn) -> None:
    turn.reply(f"You said: {turn.message.text}")

app = App(agents=[agent])
"""

pytestmark = pytest.mark.timeout(60)


async def dev(folder: Path, *arguments: str, **environment: str) -> tuple[int, str, str]:
    """Run `turnline dev` until it ends by itself; its exit code, output and errors."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "turnline.cli.main", "dev", *arguments),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TURNLINE_DATA": "data", **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_taken_port_is_told_in_a_sentence_with_what_to_do(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, err = await dev(tmp_path, "--port", port)
    assert code == 1
    assert f"port {port}" in err
    assert "TURNLINE_PORT" in err
    assert "Traceback" not in err


async def test_a_data_folder_in_use_names_the_process_that_has_it(tmp_path: Path) -> None:
    running = DevProcess(tmp_path, ECHO)
    try:
        await running.start()
        code, _, err = await dev(tmp_path, "--port", "0")
        assert code == 1
        assert str(running.pid) in err
        assert "Traceback" not in err
    finally:
        await running.close()


@pytest.mark.parametrize(
    ("app", "says"),
    [("nowhere.py", "there is no file"), ("no_such_module:app", "no module"), ("empty.py", "app = App(")],
)
async def test_an_app_that_cannot_be_loaded_says_what_to_write(tmp_path: Path, app: str, says: str) -> None:
    (tmp_path / "empty.py").write_text("")
    code, _, err = await dev(tmp_path, app, "--port", "0")
    assert code == 1
    assert says in " ".join(err.split())
    assert "Traceback" not in err


async def test_a_wrong_setting_is_named_and_its_value_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "turnline.toml").write_text('[hooks.github]\nkind = "github"\nsecrt = "hunter2"\n')
    code, _, err = await dev(tmp_path, "--port", "0")
    assert code == 1
    assert "hooks.github.secrt" in err
    assert "hunter2" not in err


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
async def test_it_stops_in_order_on_a_signal_and_starts_again_where_it_was(
    tmp_path: Path, name: signal.Signals
) -> None:
    process = DevProcess(tmp_path, ECHO)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    try:
        await process.start()
        async with aiohttp.ClientSession(headers=headers) as http:
            body = {"id": "1", "source": "test", "type": "message", "data": {"text": "hi"}}
            async with http.post(f"{process.url}/v1/events", json=body) as response:
                first = await response.json()
                assert response.status == 202
        os.kill(process.pid, name)
        assert await process.ended() == 0
        assert "Traceback" not in process.log.read_text()
        await process.start()
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.post(f"{process.url}/v1/events", json=body) as response,
        ):
            assert await response.json() == {**first, "duplicate": True}
    finally:
        await process.close()


async def test_the_secrets_of_a_data_folder_are_for_its_owner_only(tmp_path: Path) -> None:
    process = DevProcess(tmp_path, ECHO)
    try:
        await process.start()
    finally:
        await process.close()
    mode = (tmp_path / "data" / "cookie-secret").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
