"""A commit in the making: the entries so far, and the record that they fold to."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson

from consumers.loaded import Loaded
from sessionstore.commit import Entry
from sessionstore.digest import TurnDigest
from sessionstore.effect import Effect
from sessionstore.event import ReplyRoute
from sessionstore.inbox import InboxRow
from sessionstore.record import Record
from sessionstore.reducer import fold
from sessionstore.wait import Wait


@dataclass(frozen=True, slots=True)
class TurnMeta:
    """What is known of a turn besides its decisions. `seconds` is time in the handler."""

    turn_id: str
    handler: str
    agent_version: str
    attempt: int
    now: float
    seconds: float
    route: ReplyRoute | None  # the session's, afterwards
    reply_to: ReplyRoute | None  # this turn's; it travels with what the turn awaits
    journaled: bool = False
    lease_ttl_s: float = 30.0
    approval: str = ""
    failure: str = ""
    dead: bool = False


@dataclass(slots=True)
class Draft:
    """What compose adds to, in the order in which a reader will see it."""

    record: Record
    entries: list[Entry] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    final: bytes = b""
    sha256: str = ""

    digest: TurnDigest = field(default_factory=TurnDigest)

    def add(self, type_: str, body: dict[str, Any]) -> None:
        """Append and fold."""
        self.tell(type_, body)
        self.record = fold(self.record, type_, body)

    def tell(self, type_: str, body: dict[str, Any]) -> None:
        """Append without folding."""
        json = orjson.dumps(body)
        self.digest.add(type_, json)
        self.entries.append(Entry(type_, body, json))


def turn_id_for(loaded: Loaded, first: InboxRow) -> str:
    """The same for each run of the same event, so that a repeated commit is recognised, and effects keep their ids."""
    head = loaded.head
    return _id(f"{head.tenant}\n{head.session}\n{head.epoch}\n{first.pos}")


def effect_id_for(turn_id: str, ordinal: int) -> str:
    """One id per logical result: derived from session (by the turn id), turn and ordinal."""
    return _id(f"{turn_id}\n{ordinal}")


def _id(name: str) -> str:
    """128 bits of SHA-256 in hex: what a name-based UUID gives, at a fifth of its cost on every turn."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
