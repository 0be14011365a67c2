"""Durations as people write them: "90s", "15m", "2h", "3d", or plain seconds."""

import re
from datetime import timedelta
from types import MappingProxyType

from sessionstore.errors import BadInput

_UNITS_S = MappingProxyType({"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0})
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|w)")
DURATION_MAX_S = 10 * 366 * 86400.0


def seconds(duration: str | float | timedelta) -> float:
    """The duration in seconds; "1h30m" adds up. Raises BadInput with an example."""
    if isinstance(duration, timedelta):
        value = duration.total_seconds()
    elif isinstance(duration, str):
        value = _parse(duration)
    else:
        value = float(duration)
    if not 0 <= value <= DURATION_MAX_S:
        raise BadInput(f"duration {duration!r} is not between 0 and ten years", hint='for example "90s", "2h", "3d"')
    return value


def _parse(text: str) -> float:
    parts = _PART.findall(text)
    if not parts or "".join(n + unit for n, unit in parts) != text.strip():
        raise BadInput(f"duration {text!r} is not understood", hint='for example "90s", "15m", "1h30m", "3d"')
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)
