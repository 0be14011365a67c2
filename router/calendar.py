"""When a schedule fires: pure cron arithmetic, with a stated time zone and a policy for what was missed.

Instants are unix seconds. A fire's identity is its nominal instant, never the time at which it was noticed: so two
schedulers, a restart and a retry all mean the same fire.

Rules are Debian cron's, as `cronsim` implements them. A time in the gap of spring fires once, at the gap's end; a time
that comes twice in autumn fires once, the first time; `*` in the minute or hour field follows real time instead. When
day-of-month and day-of-week are both restricted, either is enough; when one begins with `*`, both must match.
Rejected: croniter and APScheduler, which fire `30 2 * * *` twice in autumn.

`every 15m` counts from the unix epoch, not from a start: a restart or a deployment does not shift it.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Final, assert_never
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from sessionstore.errors import BadSettings

TEXT_LENGTH_MAX = 200
EVERY_MIN_S = 1
EVERY_MAX_S = 366 * 86_400
DUE_MAX = 1_000  # due fires that one plan looks at; older ones are passed over, and that is said
RUN_ALL_MAX = 100  # default of the policy `run_all`

_ALIASES: Final = (
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
)
_UNITS_S: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_EVERY = re.compile(r"every\s+(?=\d)(?:(\d{1,9})d)?\s*(?:(\d{1,9})h)?\s*(?:(\d{1,9})m)?\s*(?:(\d{1,9})s)?", re.ASCII)
_REFERENCE = datetime(2024, 1, 1, tzinfo=UTC)  # any fixed instant: from it, cronsim looks 50 years ahead


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields in a time zone; made by `parse_schedule`."""

    text: str
    tz: str
    fields: str = field(repr=False)
    zone: ZoneInfo = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed interval; its instants are the multiples of `interval_s` since the unix epoch."""

    text: str
    interval_s: int


Schedule = Cron | Every


class Misfire(StrEnum):
    """What becomes of fires that are found later than the grace allows."""

    SKIP = "skip"
    RUN_ONCE = "run_once"  # the newest missed one stands for all, unless a fire is due in time anyway
    RUN_ALL = "run_all"  # the newest `run_all_max` of them


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do at an instant: make `fires` (oldest first), then wait for `next_nominal` (None: never again).

    `skipped` are the missed fires that the policy drops, oldest first; `skipped_more` says that still older ones,
    beyond the `DUE_MAX` newest, were dropped without being listed.
    """

    fires: tuple[float, ...]
    next_nominal: float | None
    skipped: tuple[float, ...] = ()
    skipped_more: bool = False


def parse_schedule(text: str, tz: str, where: str = "schedule") -> Schedule:
    """Read five cron fields, an @alias, or `every 1h30m`. `tz` is an IANA name and always required.

    Raises BadSettings, beginning with `where`, for anything that is not a schedule or never fires.
    """
    zone = _zone(tz, where)
    trimmed = text.strip()
    if not 0 < len(trimmed) <= TEXT_LENGTH_MAX:
        raise _bad(where, f"a schedule has 1 to {TEXT_LENGTH_MAX} characters")
    if trimmed.startswith("every"):
        return Every(trimmed, _interval_s(trimmed, where))
    fields = _fields(trimmed, where)
    cron = Cron(trimmed, tz, fields, zone)
    try:
        if next(_walk(cron, _REFERENCE.timestamp()), None) is None:
            raise _bad(where, f"{trimmed!r} never fires within 50 years")
    except (CronSimError, ValueError, AssertionError) as error:
        raise _bad(where, f"{trimmed!r} cannot be used: {str(error) or 'bad field'}") from None
    return cron


def misfire_of(text: str, where: str = "misfire") -> Misfire:
    """Read a policy's name. Raises BadSettings."""
    try:
        return Misfire(text)
    except ValueError:
        raise BadSettings(
            f"{where}: {text!r} is no misfire policy.", hint=f"Use one of {', '.join(Misfire)}."
        ) from None


def next_after(schedule: Schedule, instant: float) -> float | None:
    """The first nominal instant later than `instant`; None when there is none within 50 years.

    Depends on the instant alone, not on where counting began.
    """
    return next(_walk(schedule, instant), None)


def due_between(schedule: Schedule, after: float, until: float, limit: int = DUE_MAX) -> tuple[float, ...]:
    """Nominal instants later than `after` and up to and including `until`, oldest first, at most `limit`."""
    return tuple(islice(_due(schedule, after, until), limit))


def plan_fires(
    schedule: Schedule,
    last_nominal: float,
    now: float,
    policy: Misfire,
    grace_s: float,
    run_all_max: int = RUN_ALL_MAX,
) -> Plan:
    """Decide which fires to make at `now`, when the last one planned was `last_nominal` (for a new job: its creation).

    A fire at most `grace_s` late is in time and always made; `policy` decides about the others. Takes bounded time,
    however long ago `last_nominal` was. After a clock that jumped back nothing is planned twice.
    """
    due, more = _newest_due(schedule, last_nominal, now, DUE_MAX)
    in_time = tuple(nominal for nominal in due if now - nominal <= grace_s)
    missed = due[: len(due) - len(in_time)]
    kept = _caught_up(missed, bool(in_time), policy, run_all_max)
    return Plan(
        fires=kept + in_time,
        next_nominal=next_after(schedule, max(now, last_nominal)),
        skipped=missed[: len(missed) - len(kept)],
        skipped_more=more,
    )


def fire_id(nominal: float) -> str:
    """A fire's identity: its nominal UTC instant as ISO text, `2027-03-28T01:00:00Z`."""
    return datetime.fromtimestamp(nominal, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _caught_up(missed: tuple[float, ...], in_time: bool, policy: Misfire, run_all_max: int) -> tuple[float, ...]:
    match policy:
        case Misfire.SKIP:
            return ()
        case Misfire.RUN_ONCE:
            return () if in_time else missed[-1:]
        case Misfire.RUN_ALL:
            return missed[max(0, len(missed) - run_all_max) :]
        case _:
            assert_never(policy)


def _due(schedule: Schedule, after: float, until: float) -> Iterator[float]:
    for nominal in _walk(schedule, after):
        if nominal > until:
            return
        yield nominal


def _newest_due(schedule: Schedule, after: float, until: float, limit: int) -> tuple[tuple[float, ...], bool]:
    # Counting forward from years ago would take for ever, and counting backwards has daylight-saving rules of its
    # own. So: windows that end at `until` and grow until one holds enough. The one before held too few, which
    # bounds the work.
    oldest_first = due_between(schedule, after, until, limit + 1)
    if len(oldest_first) <= limit:
        return oldest_first, False
    window_s = 3_600.0
    while True:
        found = deque(_due(schedule, max(after, until - window_s), until), maxlen=limit)
        if len(found) == limit:
            return tuple(found), True
        window_s *= 4


def _walk(schedule: Schedule, after: float) -> Iterator[float]:
    match schedule:
        case Every(interval_s=interval_s):
            nominal = (int(after // interval_s) + 1) * interval_s
            while True:
                yield float(nominal)
                nominal += interval_s
        case Cron():
            yield from _walk_cron(schedule, after)
        case _:
            assert_never(schedule)


def _walk_cron(schedule: Cron, after: float) -> Iterator[float]:
    # In an hour that comes twice, cronsim counts on the wall clock and may answer with the first pass when asked
    # from within the second: such instants lie behind us and are passed over.
    start = datetime.fromtimestamp(after // 1, UTC).astimezone(schedule.zone)
    for moment in CronSim(schedule.fields, start):
        nominal = moment.timestamp()
        if nominal > after:
            yield nominal


def _fields(text: str, where: str) -> str:
    if text.startswith("@"):
        fields = dict(_ALIASES).get(text.lower())
        if fields is None:
            raise _bad(where, f"there is no alias {text}; there are {', '.join(name for name, _ in _ALIASES)}")
        return fields
    count = len(text.split())
    if count != 5:
        raise _bad(where, f"{text!r} has {count} fields instead of 5 (minute, hour, day, month, weekday)")
    return text


def _interval_s(text: str, where: str) -> int:
    match = _EVERY.fullmatch(text)
    if match is None:
        raise _bad(where, f"{text!r} is not an interval")
    pairs = zip(match.groups(), _UNITS_S, strict=True)
    interval_s = sum(int(count or 0) * unit_s for count, (_, unit_s) in pairs)
    if not EVERY_MIN_S <= interval_s <= EVERY_MAX_S:
        raise _bad(where, f"{text!r} is not between {EVERY_MIN_S} second and {EVERY_MAX_S // 86_400} days")
    return interval_s


def _zone(tz: str, where: str) -> ZoneInfo:
    try:
        if tz != "localtime" and not tz.startswith("right/"):  # the server's own zone; zones that count leap seconds
            return ZoneInfo(tz)
        raise LookupError
    except (ValueError, OSError, LookupError):  # a missing zone, a folder of zones, a path: each its own exception
        raise BadSettings(
            f"{where}: {tz!r} is not a time zone." if tz else f"{where}: it names no time zone.",
            hint="Give tz as an IANA name such as Europe/Berlin or UTC; the server's own zone is never used.",
        ) from None


def _bad(where: str, problem: str) -> BadSettings:
    return BadSettings(
        f"{where}: {problem}.",
        hint="Write five cron fields ('0 9 * * MON-FRI'), an alias (@daily) or an interval ('every 15m').",
    )
