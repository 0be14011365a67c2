"""A session's transcript as a stream: server-sent events, numbered by seq, so that a reader goes on where it was."""

import asyncio

import orjson
import structlog
from aiohttp import web

from router.http.caller import Caller, caller, number, path_part
from router.hub import Subscription
from sessionstore.errors import BadInput, NotFound, StoreError

log = structlog.get_logger(__name__)

EVENTS_A_READ = 200
HEARTBEAT_S = 15.0
WRITE_S = 15.0
RETRY_MS = 2_000
SEQ_DIGITS_MAX = 16


async def get_stream(request: web.Request) -> web.StreamResponse:
    """GET /v1/sessions/{key}/stream: what came after `Last-Event-ID` (or `after`), then what comes."""
    who = caller(request, "read")
    ref = who.session(path_part(request))
    after = _after(request)
    if not await who.services.store.reads.newest_seqs([ref]):
        raise NotFound(f"there is no session {ref.session}", hint="send its first event, then open the stream")
    subscription = who.services.webchat.hub.subscribe(ref)
    subscription.seq = after
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"})
    try:
        await response.prepare(request)
        await response.write(f"retry: {RETRY_MS}\n\n".encode())
        await _tell(who, subscription, response)
    except (TimeoutError, ConnectionError):
        # It does not read, or is gone: it comes back with the last number that it saw.
        if request.transport is not None:
            request.transport.abort()
    except StoreError as error:
        # Too late for a problem document: the reader connects again, and nothing was skipped.
        log.warning("stream.reading_failed", session=ref.session, code=error.code, error=str(error))
    finally:
        who.services.webchat.hub.unsubscribe(subscription)
    return response


async def _tell(who: Caller, subscription: Subscription, response: web.StreamResponse) -> None:
    while not subscription.closed:
        more = True
        while more:
            more = await _tell_unread(who, subscription, response)
        if not await subscription.wait(HEARTBEAT_S):
            await _write(response, b": still here\n\n")
        subscription.take_arrivals()


async def _tell_unread(who: Caller, subscription: Subscription, response: web.StreamResponse) -> bool:
    """Write one page; True when there may be another."""
    events = await who.services.store.reads.transcript(subscription.ref, after=subscription.seq, limit=EVENTS_A_READ)
    if events:
        lines = [b"id: %d\ndata: %s\n\n" % (event["seq"], orjson.dumps(event)) for event in events]
        await _write(response, b"".join(lines))
        subscription.seq = events[-1]["seq"]
    return len(events) == EVENTS_A_READ


async def _write(response: web.StreamResponse, data: bytes) -> None:
    async with asyncio.timeout(WRITE_S):
        await response.write(data)


def _after(request: web.Request) -> int:
    last = request.headers.get("Last-Event-ID", "")
    if not last:
        return number(request, "after", 0)
    if not (last.isascii() and last.isdecimal() and len(last) <= SEQ_DIGITS_MAX):
        raise BadInput("Last-Event-ID is not a number of this stream", hint="leave it out to read from the start")
    return int(last)
