"""What goes to the terminal: tables, panels and JSON; text of strangers is made harmless first."""

import re
import sys
from collections.abc import Iterable, Sequence
from types import MappingProxyType
from typing import Any, Final

import orjson
import typer
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

PIPED_COLUMNS = 200  # a file or a pipe has no width; long rows are better than cut ones

# Escape sequences could rewrite what stands above them, and marks of direction turn a line around.
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """Text that cannot steer a terminal: control characters are spelled out, line breaks and tabs are kept."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def line(text: str, length_max: int = 0) -> str:
    """The same on one line, cut at `length_max` characters (0: not cut)."""
    flat = " ".join(clean(text).split())
    return f"{flat[: length_max - 1]}…" if length_max and len(flat) > length_max else flat


def to_json(document: Any) -> str:
    """JSON for people and scripts alike; bytes that are no UTF-8 are escaped."""
    return orjson.dumps(document, default=_plain, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()


def json_line(document: Any) -> str:
    """One JSON document on one line."""
    return orjson.dumps(document, default=_plain).decode()


def console() -> Console:
    """Made for each use: the streams are those of this moment."""
    width = None if sys.stdout.isatty() else PIPED_COLUMNS
    return Console(width=width, highlight=False, soft_wrap=False, markup=False, emoji=False)


def show(*things: RenderableType) -> None:
    """Print to stdout."""
    out = console()
    for thing in things:
        out.print(thing)


def say(text: str = "", *, style: str = "") -> None:
    """A sentence for people."""
    show(Text(clean(text), style=style))


def put_json(document: Any) -> None:
    """The one JSON document of a command."""
    typer.echo(to_json(document))


def table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, wraps: Sequence[str] = ()) -> Table:
    """A table; columns named in `wraps` give way on a narrow screen, by wrapping, and nothing is cut off."""
    out = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    for name in columns:
        out.add_column(name, overflow="fold", no_wrap=name not in wraps)
    for row in rows:
        out.add_row(*(cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row))
    return out


def facts(rows: Iterable[tuple[str | Text, str | Text]]) -> Table:
    """Names on the left, what they say on the right."""
    out = Table.grid(padding=(0, 2))
    out.add_column(style="dim", no_wrap=True)
    out.add_column(overflow="fold")
    for name, said in rows:
        out.add_row(*(cell if isinstance(cell, Text) else Text(clean(cell)) for cell in (name, said)))
    return out


def badge(state: str) -> Text:
    """A status or state in the colour that people expect."""
    return Text(state, style=_COLOURS.get(state, ""))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="backslashreplace")
    raise TypeError(f"{type(value).__name__} is not JSON")


_COLOURS: Final = MappingProxyType(
    {
        "active": "green",
        "delivered": "green",
        "approved": "green",
        "completed": "cyan",
        "answered": "cyan",
        "waiting": "yellow",
        "open": "yellow",
        "paused": "yellow",
        "retry": "yellow",
        "sending": "yellow",
        "expired": "magenta",
        "void": "magenta",
        "unknown": "bold red",
        "failed": "red",
        "rejected": "red",
        "dead": "red",
    }
)
