"""A finding of the doctor: what was looked at, how it is, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much it matters."""

    OK = "ok"
    NOTE = "note"
    ATTENTION = "attention"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; `todo` says what to do, empty where nothing is to be done."""

    name: str
    level: Level
    says: str
    todo: str = ""


def ok(name: str, says: str) -> Finding:
    """As it should be."""
    return Finding(name, Level.OK, says)


def note(name: str, says: str, todo: str = "") -> Finding:
    """Worth knowing."""
    return Finding(name, Level.NOTE, says, todo)


def attention(name: str, says: str, todo: str) -> Finding:
    """Somebody has to do something."""
    return Finding(name, Level.ATTENTION, says, todo)
