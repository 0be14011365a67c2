"""The front door's check: that `router`, `consumers`, `outbox` and `sessionstore` are ours.

A project may well have its own `router.py`, and the package index has projects of these names. Whichever comes first on
the path wins, and then errors far from the cause would follow; so it is said at once, in one sentence.
"""

from importlib.util import find_spec
from pathlib import Path

NEIGHBOURS = ("router", "consumers", "outbox", "sessionstore")


def check_neighbours(home: Path) -> None:
    """Raises ImportError naming the file that is in the way. `home` is the folder that turnline itself lies in."""
    for name in NEIGHBOURS:
        spec = find_spec(name)
        origin = Path(spec.origin).resolve() if spec is not None and spec.origin else None
        if origin is not None and origin.parent.parent == home:
            continue
        found = f"is {origin}" if origin is not None else "is missing"
        raise ImportError(
            f"turnline needs its own package {name!r}, but {name!r} {found}: rename that file or uninstall that "
            "package, or start Python with PYTHONSAFEPATH=1"
        )
