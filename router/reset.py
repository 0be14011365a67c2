"""Reset windows: when a quiet or an old session starts afresh, by local time of day, by silence, or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sessionstore.errors import BadSettings


@dataclass(frozen=True, slots=True)
class ResetPolicy:
    """`daily_at` is a wall time in `tz`; `idle_s` is the silence after which a session is stale. Neither: never reset.

    A daily time always names its zone: the server's own differs between two machines. Raises BadSettings.
    """

    daily_at: time | None = None
    idle_s: float | None = None
    tz: str = ""

    def __post_init__(self) -> None:
        if self.daily_at is not None and not self.tz:
            raise BadSettings("A daily reset names no time zone.", hint='Add tz, for example "Europe/Berlin".')
        if self.daily_at is not None and self.daily_at.tzinfo is not None:
            raise BadSettings("A daily reset's time carries an offset.", hint="Write 04:00 and name the zone in tz.")
        if self.idle_s is not None and self.idle_s <= 0:
            raise BadSettings("An idle reset must wait longer than nothing.", hint="Leave it out for no idle reset.")


@dataclass(frozen=True, slots=True)
class ResetRules:
    """The most specific holds whole: the channel's, else the kind's (`dm`, `group`, `thread`), or the default."""

    default: ResetPolicy
    by_kind: Mapping[str, ResetPolicy]
    by_channel: Mapping[str, ResetPolicy]

    def policy(self, kind: str, channel: str = "") -> ResetPolicy:
        """The one policy that holds; nothing is merged, so that an empty table switches resets off."""
        return self.by_channel.get(channel) or self.by_kind.get(kind) or self.default


@dataclass(frozen=True, slots=True)
class Fresh:
    """It goes on. Both in unix seconds, None when that window is not set."""

    daily_at: float | None = None  # the latest daily boundary up to now
    idle_at: float | None = None  # the last instant at which silence still counts as fresh


@dataclass(frozen=True, slots=True)
class Stale:
    """It should start a new epoch: `cause` is "daily" or "idle", whichever came first, `at` the instant of it."""

    cause: str
    at: float


def freshness(policy: ResetPolicy, *, now: float, started: float, last_inbound: float) -> Fresh | Stale:
    """Judge a session by three instants of one clock, in unix seconds.

    `started` is when its epoch began, `last_inbound` the last message from outside: a cron tick or an outcome keeps no
    session awake. An instant after `now` (clocks differ) counts as now, since staying costs less than forgetting.
    A session is stale from the daily boundary on, and after, not at, the end of its idle time.
    """
    boundary = None if policy.daily_at is None else _boundary(policy.daily_at, policy.tz, now)
    idle_end = None if policy.idle_s is None else min(last_inbound, now) + policy.idle_s
    past: list[Stale] = []
    if boundary is not None and min(started, now) < boundary:
        past.append(Stale("daily", boundary))
    if idle_end is not None and now > idle_end:
        past.append(Stale("idle", idle_end))
    return min(past, key=lambda stale: stale.at) if past else Fresh(boundary, idle_end)


def _boundary(at: time, tz: str, now: float) -> float:
    """The latest instant, up to now, at which clocks in `tz` show `at`.

    A time that comes twice in autumn counts once, the first time; one that spring skips comes later by the skipped
    length (the reading that PEP 495 gives fold=0), so no day is without its boundary.
    """
    zone = ZoneInfo(tz)
    today = datetime.fromtimestamp(now, zone).date()
    days = (today + timedelta(days=shift) for shift in (1, 0, -1, -2))
    instants = (datetime.combine(day, at, zone).astimezone(UTC).timestamp() for day in days)
    return next(instant for instant in instants if instant <= now)
