"""A digest over the transcript events of one turn, so that an edit of what only tells shows as well."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

CLOSING: Final = ("turn.closed", "operator.closed")
OWN_FIELDS: Final = ("sha256", "entries_sha256")


class TurnDigest:
    """SHA-256 over type and JSON of each event of a turn, in order, the closing one without its own digests."""

    __slots__ = ("_sha",)

    def __init__(self) -> None:
        self._sha = hashlib.sha256()

    def add(self, type_: str, json: bytes) -> None:
        """One more event. orjson spells the same value in the same way, so stored bodies may be dumped again."""
        self._sha.update(b"%s\n%d\n" % (type_.encode(), len(json)))
        self._sha.update(json)

    def add_closing(self, body: Mapping[str, Any], type_: str = "turn.closed") -> None:
        """The event that closes a turn, or an operator's action."""
        self.add(type_, orjson.dumps({k: v for k, v in body.items() if k not in OWN_FIELDS}))

    def hexdigest(self) -> str:
        """The digest so far."""
        return self._sha.hexdigest()
