"""A lean HTTP/1.1 receiver in a process of its own: it counts, and notes when each reply arrived."""

import asyncio
import sys
import time

import orjson

HEAD_END = b"\r\n\r\n"
LENGTH = b"content-length:"
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok"


class Receiver(asyncio.Protocol):
    """One connection. Requests are POSTs with a length; GET /dump gives `[[webhook-id, unix seconds], ...]`."""

    def __init__(self, arrived: list[tuple[str, float]]) -> None:
        self._arrived = arrived
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every whole request."""
        self._buffer += data
        while (end := self._buffer.find(HEAD_END)) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(LENGTH)
            size = int(head[at + len(LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            whole = end + len(HEAD_END) + size
            if len(self._buffer) < whole:
                return
            self._buffer = self._buffer[whole:]
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        if self._transport is None:
            return
        if head.startswith(b"get /dump"):
            body = orjson.dumps(self._arrived)
            self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            return
        at = head.find(b"webhook-id:")
        key = head[at + 11 :].split(b"\r\n", 1)[0].strip().decode() if at >= 0 else ""
        self._arrived.append((key, time.time()))
        self._transport.write(ANSWER)


async def serve() -> None:
    """Listen on a free port, print it, run until killed."""
    arrived: list[tuple[str, float]] = []
    server = await asyncio.get_running_loop().create_server(lambda: Receiver(arrived), "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
