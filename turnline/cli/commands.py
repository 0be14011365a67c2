"""The root of the commands: finds them by name, and turns every failure into a sentence and an exit code.

Exit codes: 0 done, 1 not done or something found, 2 called wrongly. With `--json` a failure is a problem object.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from sessionstore.errors import BadInput, TurnlineError
from turnline.cli.failure import problem, tell
from turnline.cli.registry import ENTRIES

CALLED_WRONGLY = 2
UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])  # its module differs between versions of typer


class Commands(TyperGroup):
    """Lists commands from the registry; the module of one is imported when it is called."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands.update({entry.name: TyperCommand(entry.name, help=entry.help) for entry in ENTRIES})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names, loaded."""
        name, found, rest = super().resolve_command(ctx, args)
        entry = next((entry for entry in ENTRIES if entry.name == name), None)
        return name, (entry.load() if entry else found), rest

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run one command and exit with its code; never a traceback for an error of our own."""
        words = list(sys.argv[1:] if args is None else args)
        as_json = "--json" in words
        if foreign := next((word for word in words if not _is_text(word)), None):
            tell(BadInput(f"{ascii(foreign)[:80]} is not UTF-8", hint="type it in UTF-8; check LANG"), as_json=as_json)
            return _left(CALLED_WRONGLY, standalone_mode)
        # Without standalone mode a wrong call comes back as an exception, to be told as JSON.
        options = (prog_name, complete_var, standalone_mode and not as_json, windows_expand_args)
        try:
            code = super().main(words, *options, **extra)
            sys.stdout.flush()
        except SystemExit as exited:
            code = _flushed(exited.code)
        except BrokenPipeError:
            code = _hush()
        except TurnlineError as error:
            tell(error, as_json=as_json)
            code = 1
        except UsageError as error:
            told = getattr(error, "format_message", error.__str__)()
            problem("usage", told, "--help shows how it is called")
            code = CALLED_WRONGLY
        return _left(code, standalone_mode)


def _left(code: Any, standalone_mode: bool) -> Any:
    if standalone_mode:
        sys.exit(code if isinstance(code, int) else 0)
    return code


def _is_text(word: str) -> bool:
    """Bytes that are not UTF-8 come as halves of characters, which no event, key or column can hold."""
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def _flushed(code: Any) -> Any:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _hush()
    return code


def _hush() -> int:
    """The reader went away: whatever is still buffered goes nowhere, without a word."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
