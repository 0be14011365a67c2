"""Times as people read them: clock times in the local zone, ages and remaining times in their largest two units."""

import math
from datetime import UTC, datetime

from consumers.duration import seconds
from sessionstore.errors import BadInput

_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


def stamp(at: float | None) -> str:
    """Date and time in the local zone; "" for none."""
    return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def clock(at: float) -> str:
    """The time of day in the local zone."""
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")


def span(length_s: float) -> str:
    """A length: "2h 5m", "12s", "340ms"."""
    length_s = abs(length_s)
    if length_s < 1:
        return f"{length_s * 1000:.0f}ms"
    rest = math.floor(length_s)
    parts: list[str] = []
    for unit, size in _UNITS:
        n, rest = divmod(rest, size)
        if n or parts:
            parts.append(f"{n}{unit}" if n else "")
    return " ".join(part for part in parts[:2] if part)


def ago(at: float | None, now: float) -> str:
    """How long ago, or how soon: "3m ago", "in 2h"."""
    if at is None:
        return ""
    if abs(now - at) < 1:
        return "now"
    return f"{span(now - at)} ago" if at < now else f"in {span(at - now)}"


def moment(text: str, now: float) -> float:
    """A moment as typed: an ISO time (without a zone it is UTC), or how long ago ("2h", "3d"). Raises BadInput."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        try:
            return now - seconds(text)
        except BadInput as error:
            raise BadInput(
                f"{text!r} is neither a time nor a duration",
                hint="write 2026-12-01T08:00Z, or 2h or 3d for that long ago",
            ) from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
