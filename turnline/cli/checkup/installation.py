"""The installation: versions, and whether the packages that belong together come from one place."""

import importlib.metadata
import importlib.util
import platform
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from turnline.cli.checkup.finding import Finding, attention, note, ok

PACKAGES: Final = ("turnline", "router", "consumers", "outbox", "sessionstore")
LIBRARIES: Final = ("aiohttp", "pydantic", "orjson", "typer", "rich", "cronsim", "uvloop")
PYTHON_MIN: Final = (3, 11)
SQLITE_MIN: Final = (3, 35)  # RETURNING


def installation() -> Iterator[Finding]:
    """All findings about what is installed."""
    yield _python()
    yield _version()
    yield _libraries()
    yield one_installation(origins())
    yield _sqlite()


def origins() -> dict[str, str]:
    """Where Python would import each package from; "" where it finds none."""
    specs = {name: importlib.util.find_spec(name) for name in PACKAGES}
    return {name: str(spec.origin or "") if spec else "" for name, spec in specs.items()}


def one_installation(found: Mapping[str, str]) -> Finding:
    """A file called router.py in the user's own project would be imported in place of ours."""
    home = Path(found["turnline"]).parent.parent
    strangers = [name for name, origin in found.items() if not origin or Path(origin).parent.parent != home]
    if not strangers:
        return ok("packages", f"{', '.join(found)} all come from {home}")
    named = ", ".join(f"{name} comes from {found[name] or 'nowhere'}" for name in strangers)
    return attention(
        "packages",
        f"{named}, not from {home}",
        "rename that file or uninstall that package, or run with PYTHONSAFEPATH=1",
    )


def _python() -> Finding:
    says = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < PYTHON_MIN:
        return attention("python", says, "use Python 3.11 or newer")
    return ok("python", says)


def _version() -> Finding:
    version = _installed("turnline")
    if not version:
        return note(
            "turnline", "runs from a folder and is not installed", "`pip install .` gives the `turnline` command"
        )
    return ok("turnline", version)


def _libraries() -> Finding:
    found = {name: _installed(name) for name in LIBRARIES}
    missing = [
        name for name, version in found.items() if not version and not (name == "uvloop" and sys.platform == "win32")
    ]
    if missing:
        return attention("libraries", f"{', '.join(missing)} missing", "install turnline again")
    return ok("libraries", ", ".join(f"{name} {version}" for name, version in found.items()))


def _sqlite() -> Finding:
    if sqlite3.sqlite_version_info < SQLITE_MIN:
        return attention("sqlite", sqlite3.sqlite_version, "use a Python with SQLite 3.35 or newer")
    return ok("sqlite", sqlite3.sqlite_version)


def _installed(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""
