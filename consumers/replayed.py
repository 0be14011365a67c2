"""What a replay found: both lives, chapter by chapter, and where they differ. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from consumers.retelling import Decision
from sessionstore import patch


@dataclass(frozen=True, slots=True)
class Difference:
    """Decisions of the first life that the other one did not take, and those that it took instead."""

    then: tuple[Decision, ...]
    now: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class Chapter:
    """What set it off, and what was decided then and now."""

    text: str
    then: tuple[Decision, ...]
    now: tuple[Decision, ...]
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A replay's result. `turns` were run; `left_out` says what could not be given to the other life, and why."""

    session: str
    from_seq: int
    to_seq: int
    effects: str
    turns: int
    chapters: tuple[Chapter, ...]
    state_before: Any
    state_after: Any
    left_out: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether the same was decided, and the same state came of it."""
        return patch.same(self.state_before, self.state_after) and not any(c.differences for c in self.chapters)


def compared(then: Sequence[Decision], now: Sequence[Decision]) -> tuple[Difference, ...]:
    """Where the two differ, in order; empty when they are the same."""
    one, other = [_key(decision) for decision in then], [_key(decision) for decision in now]
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return tuple(
        Difference(tuple(then[i:j]), tuple(now[k:m])) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"
    )


def _key(decision: Decision) -> tuple[str, str, str]:
    return decision.kind, decision.text, repr(decision.detail)
