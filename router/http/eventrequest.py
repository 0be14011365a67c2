"""The body of `POST /v1/events`, checked; what is wrong is told by the field's name and never by its value."""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Any

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from router.hooks import CRON_TYPES, LABEL_CHARS_MAX, is_label
from router.jsonbody import parse_json
from sessionstore.errors import BadInput
from sessionstore.key import KEY_BYTES_MAX

PROBLEMS_MAX = 10


class InvalidEvent(BadInput):
    """Fields that cannot be used; `fields` has (name, problem) of each."""

    code = "invalid_event"

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        told = "; ".join(f"{name}: {problem}" for name, problem in fields)
        super().__init__(told, hint="the body is {id?, source, type, session_key?, agent?, reply_to?, data}")
        self.fields = tuple(fields)


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("control characters and half characters are not allowed")
    return text


def _no_cron(text: str) -> str:
    if text.startswith(CRON_TYPES):
        raise ValueError("types that begin with cron. are those of timers; use POST /v1/cron/{job}/run")
    return text


Label = Annotated[str, Field(min_length=1, max_length=LABEL_CHARS_MAX), AfterValidator(_printable)]


class EventRequest(BaseModel):
    """What a caller sends. Only `source` and `type` must be there; `data` is any JSON."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    source: Label
    type: Annotated[Label, AfterValidator(_no_cron)]
    id: Label | None = None
    session_key: Annotated[str, Field(min_length=1, max_length=KEY_BYTES_MAX)] | None = None
    agent: Label | None = None
    reply_to: Label | None = None
    data: Any = None

    def digest(self) -> bytes:
        """SHA-256 of what was asked for, apart from source and id; the same however the JSON was laid out."""
        asked = (self.type, self.session_key, self.agent, self.reply_to, self.data)
        return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()


def parse_event(raw: bytes) -> EventRequest:
    """Read a body. Raises Malformed when it is not JSON, InvalidEvent when a field is wrong; both are HTTP 400."""
    value = parse_json(raw)
    if not isinstance(value, dict):
        raise InvalidEvent([("body", "a JSON object is needed")])
    if unknown := value.keys() - EventRequest.model_fields.keys():
        # Told here, and only the first few: a body can hold any number of them.
        raise InvalidEvent([(_shown(name), "there is no such field") for name in sorted(unknown)[:PROBLEMS_MAX]])
    try:
        return EventRequest.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidEvent([(str(each["loc"][0]), each["msg"]) for each in found[:PROBLEMS_MAX]]) from None


def event_id(event: EventRequest, keys: Sequence[str]) -> str:
    """The id that the caller chose, in the body or as Idempotency-Key; "" when it chose none. Raises InvalidEvent.

    A key may stand in double quotes, as the header's draft standard has it; the quotes are not part of it.
    """
    chosen = {_unquoted(key) for key in keys} | ({event.id} if event.id is not None else set())
    if len(chosen) > 1:
        raise InvalidEvent([("id", "the body and Idempotency-Key give different ids")])
    found = chosen.pop() if chosen else ""
    if keys and not is_label(found):
        raise InvalidEvent([("Idempotency-Key", f"1 to {LABEL_CHARS_MAX} printable characters are needed")])
    return found


def _unquoted(key: str) -> str:
    return key[1:-1] if len(key) >= 2 and key[0] == key[-1] == '"' else key


def _shown(name: str) -> str:
    return ascii(name)[1:-1][:LABEL_CHARS_MAX]
