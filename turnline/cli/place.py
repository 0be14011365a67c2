"""Where the store is, as said on the command line before the command."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """Options of the root; a command's own win over them."""

    data: Path | None = None
    store: str | None = None
