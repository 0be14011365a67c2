"""How a failure is told: one sentence and what to do next, or a problem object, on stderr."""

import orjson
import typer

from sessionstore.errors import TurnlineError


def tell(error: TurnlineError, *, as_json: bool) -> None:
    """An error of our own."""
    if as_json:
        problem(error.code, str(error), error.hint, retryable=error.retryable)
        return
    typer.secho(f"error: {_harmless(str(error))}", fg="red", err=True)
    if error.hint:
        typer.secho(f"hint:  {_harmless(error.hint)}", dim=True, err=True)


def problem(code: str, detail: str, hint: str, *, retryable: bool = False) -> None:
    """A problem object; stable keys."""
    title = code.replace("_", " ")
    document = {"code": code, "title": title, "detail": detail, "hint": hint, "retryable": retryable}
    typer.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode(), err=True)


def _harmless(text: str) -> str:
    """Ids and keys in a message may come from strangers; a terminal must not obey them."""
    return "".join(c if c.isprintable() or c == " " else f"\\x{ord(c):02x}" for c in text)
