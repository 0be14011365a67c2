"""A request's body, read with a limit in bytes and in seconds, whatever its headers claim."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from sessionstore.errors import BadInput, TooLarge

BODY_TIMEOUT_S = 30.0


class TooSlow(BadInput):
    """The body did not come in time."""

    code = "too_slow"
    status = 408


class UnreadableBody(BadInput):
    """The body broke off, or its framing is wrong."""

    code = "unreadable"


class EncodedBody(BadInput):
    """The body is compressed."""

    code = "encoded"
    status = 415


async def read_body(
    request: web.Request, *, bytes_max: int, timeout_s: float, hold: Callable[[int], None] | None = None
) -> bytes:
    """The bytes as they were sent. At most `bytes_max` and one chunk are ever held; `hold` is told of each chunk.

    Raises TooLarge (at once where the length is declared), TooSlow, UnreadableBody and EncodedBody, and what `hold`
    raises. A compressed body is refused: its signature is over other bytes, and a small one may unpack to a huge one.
    """
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise EncodedBody("the body is compressed", hint="send it without Content-Encoding")
    declared = request.content_length
    if declared is not None and declared > bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(timeout_s):
            return await _read(request, bytes_max, hold)
    except TimeoutError:
        raise TooSlow(f"the body did not arrive within {timeout_s:g} s", hint="send it without pauses") from None
    except (web.RequestPayloadError, ConnectionError) as error:
        raise UnreadableBody("the body broke off or is not framed as HTTP asks", hint="send it again") from error


async def _read(request: web.Request, bytes_max: int, hold: Callable[[int], None] | None) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.content.iter_any():
        size += len(chunk)
        if size > bytes_max:
            raise _too_large(bytes_max)
        if hold is not None:
            hold(len(chunk))
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"the body is larger than {bytes_max} bytes", hint="send less, or raise body_bytes_max")
