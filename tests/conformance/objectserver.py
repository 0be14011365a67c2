"""A local server that speaks S3, in a process of its own, on a free loopback port.

Run as a program it serves until its standard input is closed, and says its port first.
"""

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

START_S = 60


@contextmanager
def object_server(bucket: str) -> Iterator[str]:
    """The address of a server that has this bucket; it ends with the block."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        request = urllib.request.Request(f"{url}/{bucket}", method="PUT")
        urllib.request.urlopen(request, timeout=START_S).close()
        yield url
    finally:
        process.stdin.close()
        process.wait(START_S)
        process.stdout.close()


def _serve() -> None:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    print(server.get_host_and_port()[1], flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    _serve()
