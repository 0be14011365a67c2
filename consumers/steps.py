"""Steps: recorded once, reused when the turn runs again.

A step's key is `key=` or its function's name and occurrence. If newer code asks with other arguments, the record is set
aside, and that is said: before the closing commit nothing has gone out, so asking again is safe.
"""

import asyncio
import hashlib
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

import orjson
from pydantic import BaseModel, PydanticUserError, TypeAdapter

from consumers.intents import Intents
from sessionstore.errors import BadInput, FenceLost
from sessionstore.leases import StepRecord

RESULT_BYTES_MAX = 1_000_000

Record = Callable[[StepRecord], Awaitable[bool]]


class Steps:
    """The steps of one turn: what was recorded before, and how to record more."""

    def __init__(self, recorded: dict[str, StepRecord], record: Record) -> None:
        self._recorded = recorded
        self._record = record
        self._counts: dict[str, int] = {}
        self._intents: Intents | None = None
        self.wrote = False

    def attach(self, intents: Intents) -> None:
        """Where to note what the transcript will tell of."""
        self._intents = intents

    async def run(self, function: Callable[..., Any], args: Any, kwargs: Any, key: str | None) -> Any:
        """The recorded result, or the function's own, recorded before it is returned."""
        name = key or self._next_key(function)
        args_hash = _hash(name, args, kwargs)
        adapter = _result_type(function)
        known = self._recorded.get(name)
        if known is not None and known.args_hash == args_hash:
            self._tell({"key": name, "args_hash": args_hash, "result": known.result, "reused": True})
            return adapter.validate_python(known.result)
        if known is not None and self._intents is not None:
            self._intents.set_aside.append(name)
        encoded = _encode(name, adapter, await _call(function, args, kwargs))
        step = StepRecord(name, args_hash, encoded)
        if not await self._record(step):
            raise FenceLost("another worker has this session", hint="nothing to do; its owner goes on")
        self.wrote = True
        self._recorded[name] = step
        self._tell({"key": name, "args_hash": args_hash, "result": encoded, "reused": False})
        return adapter.validate_python(encoded)

    def _next_key(self, function: Callable[..., Any]) -> str:
        name = getattr(function, "__qualname__", type(function).__name__)
        self._counts[name] = self._counts.get(name, 0) + 1
        return f"{name}#{self._counts[name]}"

    def _tell(self, entry: dict[str, Any]) -> None:
        if self._intents is not None:
            self._intents.steps.append(entry)


async def _call(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    result = await asyncio.to_thread(function, *args, **kwargs)
    return await result if inspect.isawaitable(result) else result


def _hash(name: str, args: Any, kwargs: Any) -> str:
    try:
        text = orjson.dumps([args, kwargs], default=_plain, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise BadInput(
            f"step {name!r} was given something that is not data: {error}",
            hint="pass plain values or pydantic models; keep clients and connections outside the arguments",
        ) from error
    return hashlib.sha256(text).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _result_type(function: Callable[..., Any]) -> TypeAdapter[Any]:
    try:
        hint = get_type_hints(function).get("return", Any)
    except (NameError, TypeError):
        hint = Any
    try:
        return TypeAdapter(hint)
    except PydanticUserError as error:
        raise BadInput(
            f"a step returns {hint!r}, which cannot be recorded", hint="return plain data or a pydantic model"
        ) from error


def _encode(name: str, adapter: TypeAdapter[Any], value: Any) -> Any:
    try:
        text = adapter.dump_json(value)
    except Exception as error:
        raise BadInput(
            f"step {name!r} returned something that cannot be recorded: {error}",
            hint="return plain data or a pydantic model",
        ) from error
    if len(text) > RESULT_BYTES_MAX:
        raise BadInput(
            f"step {name!r} returned {len(text)} bytes, {RESULT_BYTES_MAX} fit",
            hint="store it elsewhere and return a reference",
        )
    return orjson.loads(text)
