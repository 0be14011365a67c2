"""JSON Patch (RFC 6902): the small change between two JSON values, and its application.

Only `add`, `remove` and `replace` are made; those and no others are understood. Lists are where naive differs blow up:
a bounded history drops its head and appends a tail, which index by index replaces everything. So a list is first tried
as "k items gone in front, the rest kept, some appended"; then as one replaced middle between a common head and tail.
"""

from collections.abc import Sequence
from typing import Any

from sessionstore.errors import Damaged

Op = dict[str, Any]

_ABSENT = object()


def same(a: Any, b: Any) -> bool:
    """Equal as JSON: unlike Python's ==, true is not 1, and 1 is not 1.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return len(a) == len(b) and all(k in b and same(v, b[k]) for k, v in a.items())
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return repr(a) == repr(b)
    return bool(a == b)


def diff(old: Any, new: Any) -> list[Op]:
    """The operations that turn `old` into `new`; empty when they are the same."""
    ops: list[Op] = []
    _diff(old, new, "", ops)
    return ops


def apply(document: Any, ops: Sequence[Op]) -> Any:
    """A new document with `ops` applied; `document` is not changed. Raises Damaged when an operation does not fit."""
    for op in ops:
        try:
            document = _apply_one(document, _parse(op["path"]), op)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Damaged(
                f"patch operation {op.get('op')!r} at {op.get('path')!r} does not fit the state",
                hint="run `turnline verify` on the session; it names the first event that differs",
            ) from error
    return document


def _diff(old: Any, new: Any, path: str, ops: list[Op]) -> None:
    if isinstance(old, dict) and isinstance(new, dict):
        _diff_dict(old, new, path, ops)
    elif isinstance(old, list) and isinstance(new, list):
        _diff_list(old, new, path, ops)
    elif not same(old, new):
        ops.append({"op": "replace", "path": path, "value": new})


def _diff_dict(old: dict[str, Any], new: dict[str, Any], path: str, ops: list[Op]) -> None:
    for key in old:
        if key not in new:
            ops.append({"op": "remove", "path": f"{path}/{_escape(key)}"})
    for key, value in new.items():
        before = old.get(key, _ABSENT)
        if before is _ABSENT:
            ops.append({"op": "add", "path": f"{path}/{_escape(key)}", "value": value})
        # Most of a state is text that has not changed: compare it without a call. Speed: tests/bench/bench_patch.py.
        elif before is not value and not (type(value) is str and before == value):
            _diff(before, value, f"{path}/{_escape(key)}", ops)


def _diff_list(old: list[Any], new: list[Any], path: str, ops: list[Op]) -> None:
    gone = _dropped_in_front(old, new)
    if gone is not None:
        ops.extend({"op": "remove", "path": f"{path}/0"} for _ in range(gone))
        kept = len(old) - gone
        ops.extend({"op": "add", "path": f"{path}/-", "value": value} for value in new[kept:])
        return
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if not same(old[i], new[i])), shorter)
    tail = 0
    while tail < shorter - head and same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    old_mid, new_mid = old[head : len(old) - tail], new[head : len(new) - tail]
    for i, (a, b) in enumerate(zip(old_mid, new_mid, strict=False)):
        _diff(a, b, f"{path}/{head + i}", ops)
    common = min(len(old_mid), len(new_mid))
    for _ in old_mid[common:]:
        ops.append({"op": "remove", "path": f"{path}/{head + common}"})
    for i, value in enumerate(new_mid[common:]):
        ops.append({"op": "add", "path": f"{path}/{head + common + i}", "value": value})


def _dropped_in_front(old: list[Any], new: list[Any]) -> int | None:
    """How many items went in front, when the rest of `old` is the beginning of `new`."""
    if not old or not new:
        return None
    gone = next((i for i, item in enumerate(old) if same(item, new[0])), None)
    if gone is None or len(old) - gone > len(new):
        return None
    kept, begun = old[gone:], new[: len(old) - gone]
    return gone if _same_texts(kept, begun) or all(map(same, kept, begun)) else None


def _same_texts(a: list[Any], b: list[Any]) -> bool:
    """Lists of nothing but text, compared at the speed of Python's own equality."""
    return a == b and set(map(type, a)) == {str} == set(map(type, b))


def _apply_one(document: Any, path: list[str], op: Op) -> Any:
    if not path:
        if op["op"] not in ("add", "replace"):
            raise ValueError("the whole document can only be replaced")
        return op["value"]
    head, rest = path[0], path[1:]
    if isinstance(document, dict):
        return _apply_dict(document, head, rest, op)
    if isinstance(document, list):
        return _apply_list(document, head, rest, op)
    raise TypeError("a path leads through a scalar")


def _apply_dict(document: dict[str, Any], key: str, rest: list[str], op: Op) -> dict[str, Any]:
    out = dict(document)
    if rest:
        out[key] = _apply_one(document[key], rest, op)
    elif op["op"] == "remove":
        del out[key]
    elif op["op"] == "replace":
        out[key]
        out[key] = op["value"]
    elif op["op"] == "add":
        out[key] = op["value"]
    else:
        raise ValueError("unknown operation")
    return out


def _apply_list(document: list[Any], key: str, rest: list[str], op: Op) -> list[Any]:
    out = list(document)
    if key == "-" and not rest and op["op"] == "add":
        out.append(op["value"])
        return out
    index = _index(key)
    if rest:
        out[index] = _apply_one(document[index], rest, op)
    elif op["op"] == "remove":
        del out[index]
    elif op["op"] == "replace":
        out[index] = op["value"]
    elif op["op"] == "add":
        if index > len(out):
            raise IndexError(index)
        out.insert(index, op["value"])
    else:
        raise ValueError("unknown operation")
    return out


def _index(key: str) -> int:
    if not key.isascii() or not key.isdigit() or (len(key) > 1 and key[0] == "0"):
        raise ValueError(f"{key!r} is not a list index")
    return int(key)


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def _parse(path: str) -> list[str]:
    if not path:
        return []
    if not path.startswith("/"):
        raise ValueError("a path begins with /")
    return [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
