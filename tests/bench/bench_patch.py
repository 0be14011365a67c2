"""State changes: our differ against the `jsonpatch` library, and the size of what each writes.

    python -m tests.bench.bench_patch

The state is a counter, a history of 20 messages that drops its oldest, and a profile of which one field changes.
"""

import time
from typing import Any

import jsonpatch
import orjson

from sessionstore import patch

ROUNDS = 2_000


def states() -> tuple[dict[str, Any], dict[str, Any]]:
    """A state before and after one turn."""
    profile = {f"field{i:02d}": "x" * 100 for i in range(18)}
    messages = [f"message {i} " + "m" * 190 for i in range(20)]
    old = {"n": 7, "messages": messages, "profile": profile}
    new = {"n": 8, "messages": [*messages[1:], "the newest"], "profile": {**profile, "field07": "changed"}}
    return old, orjson.loads(orjson.dumps(new))


def main() -> None:
    """Print microseconds and bytes a change."""
    old, new = states()
    for name, make in (
        ("ours", lambda: patch.diff(old, new)),
        ("jsonpatch", lambda: jsonpatch.make_patch(old, new).patch),
    ):
        began = time.perf_counter()
        for _ in range(ROUNDS):
            made = make()
        took = (time.perf_counter() - began) / ROUNDS
        print(f"{name:<10} {took * 1e6:8.1f} us  {len(orjson.dumps(made)):6d} bytes")


if __name__ == "__main__":
    main()
