"""A GitHub delivery in one line, for people who look through a session."""

from typing import Any, Final

TEXT_CHARS_MAX = 300
SENDER_CHARS_MAX = 100

_NUMBERED: Final = ("pull_request", "issue", "discussion")
_NAMED: Final = (
    ("release", "tag_name"),
    ("workflow_run", "name"),
    ("check_run", "name"),
    ("deployment", "environment"),
)


def github_text(event: str, action: str, payload: Any) -> str:
    """Such as `issues opened in octo/hello #17: Spelling error, by octocat`; what the payload lacks is left out."""
    words = [event, action.replace("_", " ")] if action else [event]
    if repository := _text(payload, "repository", "full_name"):
        words += ["in", repository]
    if subject := _subject(payload):
        words.append(subject)
    line = " ".join(words)
    sender = github_sender(payload)
    # Titles are strangers' text: one line, bounded, and the name of who did it stays in sight.
    tail = f", by {sender}" if sender else ""
    return _one_line(line, TEXT_CHARS_MAX - len(tail)) + tail


def github_sender(payload: Any) -> str:
    """The login of whoever caused it, or ""."""
    return _one_line(_text(payload, "sender", "login"), SENDER_CHARS_MAX)


def _subject(payload: Any) -> str:
    for name in _NUMBERED:
        number = _at(payload, name, "number")
        if type(number) is int:
            title = _text(payload, name, "title")
            return f"#{number}: {title}" if title else f"#{number}"
    for name, field in _NAMED:
        if found := _text(payload, name, field):
            return found
    return _text(payload, "ref")


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: Any, *path: str) -> str:
    found = _at(value, *path)
    return found if isinstance(found, str) else ""


def _one_line(text: str, chars_max: int) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: chars_max * 2]).split())
    return line if len(line) <= chars_max else f"{line[: chars_max - 3]}..."
