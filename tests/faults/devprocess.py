"""A real `turnline dev` in a process of its own, that a test may kill and start again."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import aiohttp

TOKEN = "a-token-for-this-test"
START_S = 30.0


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class DevProcess:
    """`turnline dev APP` on a fixed port and folder, so that a restart finds everything again."""

    def __init__(self, folder: Path, app: str, settings: str = "", **environment: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "app.py").write_text(app)
        (folder / "turnline.toml").write_text(settings)
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("TURNLINE_")},
            "TURNLINE_CONFIG": str(folder / "turnline.toml"),
            "TURNLINE_DATA": str(folder / "data"),
            "TURNLINE_PORT": str(self.port),
            "TURNLINE_TOKEN": TOKEN,
            "TURNLINE_EGRESS_ALLOW": "127.0.0.1",
            **environment,
        }
        self._process: asyncio.subprocess.Process | None = None
        self.log = folder / "log.txt"

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "turnline.cli.main",
                "dev",
                str(self.folder / "app.py"),
                env=self._environment,
                stdout=log,
                stderr=log,
            )
        async with asyncio.timeout(START_S), aiohttp.ClientSession() as http:
            while not await self._ready(http):
                assert self._process.returncode is None, self.log.read_text()
                await asyncio.sleep(0.02)

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        await self._process.wait()

    async def terminate(self) -> int:
        """SIGTERM; returns the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return await self._process.wait()

    async def ended(self) -> int:
        """Wait for its end; returns the exit code."""
        assert self._process is not None
        return await self._process.wait()

    async def close(self) -> None:
        """Make sure that nothing is left running."""
        if self._process is not None and self._process.returncode is None:
            await self.kill()

    async def _ready(self, http: aiohttp.ClientSession) -> bool:
        try:
            async with http.get(f"{self.url}/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False
