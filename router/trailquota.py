"""How many lines of the audit trail one source of refusals may fill; what is over is counted, not kept. Pure."""

from dataclasses import dataclass

from sessionstore.operations import TrailLine

LINES_PER_ACTOR_MAX = 300
LINES_PER_ACTION_MAX = 3_000
ACTORS_MAX = 1_000
WINDOW_S = 60.0
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class QuotaLimits:
    """Limits of one window: lines for each action of an actor, for each action of all, and actors told apart."""

    lines_per_actor_max: int = LINES_PER_ACTOR_MAX
    lines_per_action_max: int = LINES_PER_ACTION_MAX
    actors_max: int = ACTORS_MAX
    window_s: float = WINDOW_S


@dataclass(slots=True)
class _Count:
    admitted: int = 0
    held: int = 0


class TrailQuota:
    """Fixed windows. Memory is bounded by `actors_max`, whoever sends: later actors of a window are counted as one."""

    def __init__(self, limits: QuotaLimits) -> None:
        self._limits = limits
        self._counts: dict[tuple[str, str, str], _Count] = {}
        self._actions: dict[str, int] = {}
        self._until = 0.0

    def admit(self, line: TrailLine, now: float) -> bool:
        """Whether the line may be kept; counts it either way. `now` is monotonic."""
        if not self._counts:
            self._until = now + self._limits.window_s
        count = self._count_of(line)
        spent = self._actions.get(line.action, 0)
        if count.admitted >= self._limits.lines_per_actor_max or spent >= self._limits.lines_per_action_max:
            count.held += 1
            return False
        count.admitted += 1
        self._actions[line.action] = spent + 1
        return True

    def ends_in(self, now: float) -> float | None:
        """Seconds until the window ends; None when there is none."""
        return max(0.0, self._until - now) if self._counts else None

    def end(self) -> list[TrailLine]:
        """End the window: one line for each actor of whom lines were held back."""
        lines = [
            TrailLine(tenant, actor, action, "", f"and {count.held:,} more like it within {self._limits.window_s:g} s")
            for (tenant, action, actor), count in self._counts.items()
            if count.held
        ]
        self._counts.clear()
        self._actions.clear()
        return lines

    def _count_of(self, line: TrailLine) -> _Count:
        key = (line.tenant, line.action, line.actor)
        if key not in self._counts and len(self._counts) >= self._limits.actors_max:
            key = (line.tenant, line.action, OTHERS)
        return self._counts.setdefault(key, _Count())
