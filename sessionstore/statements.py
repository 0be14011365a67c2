"""SQL by name: one statement a file, read once when a driver opens."""

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType


def load_statements(package: str) -> Mapping[str, str]:
    """All `.sql` files of a package, by their name without the ending."""
    found = {
        entry.name.removesuffix(".sql"): entry.read_text(encoding="utf-8")
        for entry in files(package).iterdir()
        if entry.name.endswith(".sql")
    }
    return MappingProxyType(found)
