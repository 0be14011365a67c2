"""JMESPath expressions over a request, compiled once: what a webhook's settings use to find its session key.

An expression sees `{"headers": ..., "query": ..., "body": ...}`; header names are lower-case. A key setting is a list
of expressions; the first one that yields a usable value wins. Usable is a list of [type, id] pairs whose ids are text
or whole numbers and not empty: so `['issue', body.issue.number]` of a payload without an issue is passed over, and no
key holds "null". What is wrong in an expression is said when settings are read, unknown functions included, which
JMESPath itself reports only when they are called.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions

from sessionstore.errors import BadInput, BadSettings

Parts = tuple[tuple[str, str], ...]

EXPRESSION_LENGTH_MAX = 2_000


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression; made by `compile_expression`."""

    text: str
    where: str = field(compare=False)
    _compiled: Any = field(repr=False, compare=False)


def compile_expression(text: str, where: str) -> Expression:
    """Compile once. `where` names the setting in messages. Raises BadSettings, with the place in the text if known."""
    if not isinstance(text, str) or len(text) > EXPRESSION_LENGTH_MAX:
        raise _bad(where, f"an expression is text of at most {EXPRESSION_LENGTH_MAX} characters")
    try:
        with warnings.catch_warnings():
            # A literal that is not JSON, such as `abc`, is read as text with a deprecation: mostly a forgotten quote.
            warnings.simplefilter("error")
            compiled = jmespath.compile(text)
    except PendingDeprecationWarning:
        raise _bad(where, f"a literal between backticks is not JSON in {text!r}") from None
    except RecursionError:
        raise _bad(where, "the expression is nested too deeply") from None
    except JMESPathError as error:
        raise _bad(where, f"{_first_line(error)}{_place(error)} in {text!r}") from None
    for problem in _call_problems(compiled.parsed):
        raise _bad(where, f"{problem} in {text!r}")
    return Expression(text, where, compiled)


def compile_expressions(texts: Sequence[str], where: str) -> tuple[Expression, ...]:
    """Compile a list setting; messages name the item as `where[0]`. Raises BadSettings, on an empty list too."""
    if not texts or isinstance(texts, str):
        raise _bad(where, "it needs a list of at least one expression")
    return tuple(compile_expression(text, f"{where}[{index}]") for index, text in enumerate(texts))


def evaluate(expression: Expression, payload: Mapping[str, Any]) -> Any:
    """The expression's value, None where a path leads nowhere.

    Raises BadInput when a function cannot take what the payload holds, such as the length of a missing list.
    """
    try:
        return expression._compiled.search(payload)
    except (JMESPathError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise BadInput(
            f"{expression.where} cannot be evaluated on this payload: {_first_line(error)}",
            hint="Guard the function with a condition, for example: body.list && length(body.list)",
        ) from error


def key_parts(expressions: Iterable[Expression], payload: Mapping[str, Any]) -> Parts | None:
    """The (type, id) pairs of the first expression with a usable value; None when none has one. Raises nothing."""
    for expression in expressions:
        try:
            parts = usable_parts(evaluate(expression, payload))
        except BadInput:
            continue
        if parts is not None:
            return parts
    return None


def usable_parts(value: Any) -> Parts | None:
    """Read a list of [type, id] pairs; whole numbers become text. None when any of it cannot name anything."""
    if not isinstance(value, list) or not value:
        return None
    parts = []
    for pair in value:
        if not isinstance(pair, list) or len(pair) != 2:
            return None
        kind, part_id = pair[0], _id_text(pair[1])
        if not isinstance(kind, str) or not kind or not part_id:
            return None
        parts.append((kind, part_id))
    return tuple(parts)


def request_payload(headers: Mapping[str, str], query: Mapping[str, str], body: Any) -> dict[str, Any]:
    """What expressions see of a request: header names lower-cased, `body` as decoded."""
    return {"headers": {name.lower(): value for name, value in headers.items()}, "query": dict(query), "body": body}


def _id_text(value: Any) -> str:
    # True is an int to Python, and 1.0 may be 1 or not: neither is an id.
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else ""


def _call_problems(node: Any) -> Iterator[str]:
    if not isinstance(node, dict):
        return
    if node["type"] == "function_expression":
        yield from _call_problem(node["value"], len(node["children"]))
    for child in node["children"]:
        yield from _call_problems(child)


def _call_problem(name: str, given: int) -> Iterator[str]:
    function = Functions.FUNCTION_TABLE.get(name)
    if function is None:
        yield f"there is no function {name}()"
        return
    signature = function["signature"]
    variadic = bool(signature) and signature[-1].get("variadic", False)
    if given < len(signature) or (given > len(signature) and not variadic):
        yield f"{name}() takes {len(signature)}{' or more' if variadic else ''} arguments, not {given},"


def _place(error: JMESPathError) -> str:
    position = getattr(error, "lex_position", None)
    if position is None:
        position = getattr(error, "lexer_position", None)
    return "" if position is None else f" at column {position + 1}"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(" :")


def _bad(where: str, problem: str) -> BadSettings:
    return BadSettings(
        f"{where}: {problem}.",
        hint="See https://jmespath.org; names are headers, query and body, text is written 'in single quotes'.",
    )
