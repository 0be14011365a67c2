"""A server on loopback that counts what arrives and misbehaves as told."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum


class Fault(Enum):
    """What happens instead of an answer, after the request was read."""

    DROP = "drop"
    HANG = "hang"


@dataclass
class Arrival:
    line: str
    headers: dict[str, str]
    body: bytes
    connection: int


Script = Callable[[Arrival], bytes | Fault]


def answer(status: int, body: bytes = b"", *, claimed: int | None = None, **headers: str) -> bytes:
    """An HTTP answer; `claimed` is a Content-Length that differs from the truth."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body) if claimed is None else claimed}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Loopback:
    script: Script
    port: int = 0
    arrivals: list[Arrival] = field(default_factory=list)
    connections: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            while arrival := await self._read(reader, number):
                self.arrivals.append(arrival)
                self.arrived.set()
                reply = self.script(arrival)
                if reply is Fault.DROP:
                    return
                if isinstance(reply, bytes):
                    writer.write(reply)
                    if b"Connection: close" in reply:
                        return
                else:
                    await reader.read()  # until the client gives up
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader, number: int) -> Arrival | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        line, *rest = head.decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in rest)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Arrival(line, headers, body, number)


@asynccontextmanager
async def loopback(script: Script) -> AsyncIterator[Loopback]:
    double = Loopback(script)
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0)
    double.port = server.sockets[0].getsockname()[1]
    try:
        yield double
    finally:
        server.close()
