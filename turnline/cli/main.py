"""`turnline`: the command line."""

from pathlib import Path
from typing import Annotated

import typer

from turnline.cli.commands import Commands
from turnline.cli.place import Place
from turnline.cli.registry import HELP_OPTIONS

app = typer.Typer(
    cls=Commands,
    name="turnline",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": list(HELP_OPTIONS)},
)


@app.callback()
def place(
    ctx: typer.Context,
    data: Annotated[Path | None, typer.Option("--data", help="Folder of the store (TURNLINE_DATA).")] = None,
    store: Annotated[str | None, typer.Option("--store", help="sqlite:///PATH (TURNLINE_STORE).")] = None,
) -> None:
    """One session, one turn at a time, on any channel."""
    ctx.obj = Place(data, store)


def main() -> None:
    """The entry point of the `turnline` script."""
    app(prog_name="turnline")


if __name__ == "__main__":
    main()
