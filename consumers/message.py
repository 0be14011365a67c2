"""A message as a handler sees it."""

from dataclasses import dataclass
from typing import Any

from sessionstore.event import Event


@dataclass(frozen=True, slots=True)
class Message:
    """A message as a handler sees it."""

    text: str
    sender: str = ""
    type: str = "message"
    data: Any = None
    id: str = ""
    source: str = ""


def message_from(event: Event) -> Message:
    """An event as a message."""
    return Message(event.text, event.sender, event.type, event.data, event.id, event.source)
