"""The end of a process: bounded, and never more than a second signal away."""

import subprocess
import sys

STUCK = """
import asyncio, os, signal, threading
from turnline.ending import heard

async def main() -> None:
    with heard(lambda: None, within_s={within_s}):
        os.kill(os.getpid(), signal.SIGTERM)
        {more}
        threading.Event().wait(60)

asyncio.run(main())
"""
ORDERLY = """
import asyncio, os, signal, threading
from turnline.ending import heard

async def main() -> None:
    asked = asyncio.Event()
    with heard(asked.set, within_s=0.2):
        os.kill(os.getpid(), signal.SIGTERM)
        await asked.wait()
    threading.Event().wait(0.5)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

asyncio.run(main())
"""
LEFT_BEHIND = """
import threading
from turnline.ending import cut_off
threading.Thread(target=threading.Event().wait).start()
cut_off(0.2, 7)
"""


def ended(code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], timeout=30, capture_output=True).returncode


def test_a_signal_that_leads_to_nothing_ends_the_process_after_its_bound() -> None:
    assert ended(STUCK.format(within_s=0.2, more="pass")) == 1


def test_a_second_signal_ends_it_at_once_while_the_loop_is_blocked() -> None:
    assert ended(STUCK.format(within_s=60, more="os.kill(os.getpid(), signal.SIGINT)")) == 130


def test_an_orderly_end_calls_the_bound_off_and_gives_the_signals_back() -> None:
    assert ended(ORDERLY) == 0


def test_a_thread_that_was_left_behind_does_not_keep_the_process() -> None:
    assert ended(LEFT_BEHIND) == 7
