"""JSON as it comes from outside: parsed once, and refused where it could not be stored as it was sent.

Stricter than the grammar in four things. Nesting has a limit, because what is read must be written again, inside other
JSON. Whole numbers must fit 64 bits: the parser makes a float of a longer one, and an id that was rounded names
somebody else. Text must be text: invalid UTF-8 and half characters are refused. And where a signature vouches for the
bytes, a name may stand only once in an object: of two, the signer may have meant the other.
"""

import json
import re
from typing import Any, Final

import orjson

from sessionstore.errors import BadInput

DEPTH_MAX = 100
INTEGER_MIN = -(2**63)
INTEGER_MAX = 2**64 - 1
INTEGER_DIGITS_MAX = 20

_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")


class Malformed(BadInput):
    """A body that is not JSON as understood here."""

    code = "malformed"


def parse_json(raw: bytes, *, unique_names: bool = False) -> Any:
    """The value. Raises Malformed, with the place where it is known and never with a piece of the body.

    `unique_names` refuses objects in which a name stands twice; it costs a second, slower pass.
    """
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise _malformed(f"the body is not JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    # Most bodies hold fewer brackets than the limit, and then need no walk.
    if raw.count(b"[") + raw.count(b"{") > DEPTH_MAX and _deeper(value, DEPTH_MAX):
        raise _malformed(f"the body is nested more than {DEPTH_MAX} deep")
    if unique_names:
        json.loads(raw, object_pairs_hook=_unique, parse_int=_whole)
    elif _LONG_NUMBER.search(raw):
        json.loads(raw, parse_int=_whole)
    return value


def _deeper(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [inner for outer in level for inner in _containers(outer)]
        if not level:
            return False
    return True


def _containers(outer: Any) -> list[Any]:
    held = outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ()
    return [inner for inner in held if isinstance(inner, dict | list)]


def _unique(pairs: list[tuple[str, Any]]) -> None:
    if len({name for name, _ in pairs}) != len(pairs):
        raise _malformed("a name stands twice in one object of the body")


def _whole(digits: str) -> int:
    if len(digits) > INTEGER_DIGITS_MAX or not INTEGER_MIN <= int(digits) <= INTEGER_MAX:
        raise _malformed("a whole number in the body does not fit 64 bits")
    return 0


def _malformed(problem: str) -> Malformed:
    return Malformed(problem, hint="send one JSON document in UTF-8; numbers that are long ids go as text")
