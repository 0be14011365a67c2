"""The end of a process: it comes in bounded time, whatever still runs in a thread or holds up the event loop.

A thread cannot be stopped, and Python waits for all of them before it exits; a handler that blocks the event loop keeps
it from hearing signals. Nothing is lost by ending all the same: what had to be kept is durable, and what was under way
is taken up from its journal, as after a crash.
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import structlog

log = structlog.get_logger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)
CUT_OFF_CODE = 1
IMPATIENT_CODE = 130


def cut_off(within_s: float, code: int) -> Callable[[], None]:
    """End the process with this code after so many seconds unless it has ended; returns the way to call it off."""

    def end() -> None:
        log.warning("process.cut_off", after_s=within_s, reason="a thread or the event loop does not come to an end")
        sys.stdout.flush()
        os._exit(code)

    timer = threading.Timer(within_s, end)
    timer.daemon = True
    timer.start()
    return timer.cancel


@contextmanager
def heard(ask: Callable[[], None], within_s: float) -> Iterator[None]:
    """While it lasts, SIGTERM and SIGINT have `ask` called on the running loop. A second one ends the process at once,
    and a first one that leads to nothing ends it after `within_s`, with exit code 1."""
    loop = asyncio.get_running_loop()
    call_off: list[Callable[[], None]] = []

    # Not the loop's own handlers: those wait for the loop, which a handler may be blocking.
    def hear(number: int, frame: FrameType | None) -> None:
        if call_off:
            os._exit(IMPATIENT_CODE)
        call_off.append(cut_off(within_s, CUT_OFF_CODE))
        loop.call_soon_threadsafe(ask)

    before = [(number, signal.signal(number, hear)) for number in SIGNALS]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
        for stop in call_off:
            stop()
