"""The drivers under test. To add one, add a line to `DRIVERS`: its name, and how to open its store."""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

from sessionstore.clock import Clock
from sessionstore.sqlite.store import SqliteStore
from sessionstore.store import Store

Opener = Callable[[Path, Clock], Store]
"""Opens a store that lives in the folder. Opened again there, by whatever process, it holds the same rows."""

DRIVERS = MappingProxyType(
    {
        "sqlite": lambda folder, clock: SqliteStore(folder / "store.sqlite", clock),
    }
)
