"""The recovery coordinator: two pure, table-driven functions. After any crash they decide how to go on, never a model.

Each takes its inputs reduced to enums, so that every combination can be listed in a test, and returns what to do with
the reason in words. Who calls them does the looking and the writing.
"""

from dataclasses import dataclass
from enum import StrEnum

from outbox.adapter import Idempotency


class Action(StrEnum):
    """What to do about an effect whose end is unknown."""

    RECORD = "record"  # it was done: write that down
    FAIL = "fail"  # it was tried and failed, or may not be done any more
    WAIT = "wait"  # it is under way, or the look-up cannot tell yet
    RESEND = "resend"  # under the same key
    ASK = "ask"  # a person has to say
    VOID = "void"  # surely not done, and what it was approved for has changed: ask anew
    CANCEL = "cancel"  # not done, and not wanted any more


class Found(StrEnum):
    """What looking showed."""

    NOT_LOOKED = "not_looked"  # the class has no look-up
    ABSENT = "absent"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CHANGED = "changed"
    CANNOT_TELL = "cannot_tell"


class Facts(StrEnum):
    """Whether what the effect was bound to still holds."""

    HOLD = "hold"  # also when it was bound to nothing
    MOVED = "moved"


class Policy(StrEnum):
    """What was declared for when nothing else decides."""

    ASK = "ask"
    RESEND = "resend"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision, and why. `possible_duplicate` marks a resend that nobody can vouch for."""

    action: Action
    reason: str
    possible_duplicate: bool = False


def decide_effect(
    idempotency: Idempotency,
    found: Found,
    facts: Facts,
    *,
    wanted: bool,
    started: bool,
    in_window: bool,
    settled: bool,
    budget_left: bool,
    policy: Policy,
) -> Verdict:
    """How to go on with an unknown effect.

    `started`: the other side's id is stored. `in_window`: the other side still remembers the key, or can still be asked
    about it. `settled`: more time has passed than call timeout plus claim time, so that an absent one cannot still be
    on its way. `budget_left`: more looks and attempts are allowed.
    """
    seen = _by_what_was_seen(found)
    if seen is not None:
        return seen
    surely_absent = found is Found.ABSENT and in_window and not started
    may_tell = budget_left and (found is Found.CANNOT_TELL or (surely_absent and not settled))
    if not wanted:
        return _unwanted(surely_absent and settled, may_tell)
    if found is Found.CHANGED:
        return Verdict(Action.VOID, "the look-up found that the world has changed: it is asked anew")
    if facts is Facts.MOVED:
        return _moved(surely_absent and settled, may_tell)
    if not budget_left:
        return Verdict(Action.ASK, "looking and trying have not settled it")
    if idempotency is Idempotency.NATIVE and in_window:
        return Verdict(Action.RESEND, "the other side does one key once")
    if found is Found.ABSENT:
        return _absent(started, in_window, settled, policy)
    if found is Found.CANNOT_TELL:
        return Verdict(Action.WAIT, "the look-up could not tell; it is asked again")
    return _by_policy(policy)


def _by_what_was_seen(found: Found) -> Verdict | None:
    """What was seen to have happened is recorded, whatever has changed since."""
    if found is Found.SUCCEEDED:
        return Verdict(Action.RECORD, "the look-up found it done")
    if found is Found.FAILED:
        return Verdict(Action.FAIL, "the look-up found that it failed")
    if found is Found.RUNNING:
        return Verdict(Action.WAIT, "the look-up found it under way")
    return None


def _unwanted(surely_not_done: bool, may_tell: bool) -> Verdict:
    if surely_not_done:
        return Verdict(Action.CANCEL, "it was not done, and is not wanted any more")
    if may_tell:
        return Verdict(Action.WAIT, "not wanted any more; it is only looked at until that is certain")
    return Verdict(Action.ASK, "not wanted any more, and nobody can tell whether it was done")


def _moved(surely_not_done: bool, may_tell: bool) -> Verdict:
    """Never sent again; but only what was surely not done may be asked anew, or a yes would do it twice."""
    if surely_not_done:
        return Verdict(Action.VOID, "it was not done, and what it was approved for has changed: it is asked anew")
    if may_tell:
        return Verdict(Action.WAIT, "what it was approved for has changed; it is only looked at until it is certain")
    return Verdict(Action.ASK, "what it was approved for has changed, and nobody can tell whether it was done")


def _absent(started: bool, in_window: bool, settled: bool, policy: Policy) -> Verdict:
    if started:
        return Verdict(Action.ASK, "it had started at the other side and cannot be found there now")
    if not in_window:
        return _by_policy(policy)  # asked so late, "absent" may mean "forgotten"
    if not settled:
        return Verdict(Action.WAIT, "it cannot be found, but may still be on its way")
    return Verdict(Action.RESEND, "the look-up found that it was never done")


def _by_policy(policy: Policy) -> Verdict:
    match policy:
        case Policy.RESEND:
            return Verdict(Action.RESEND, "declared: send again, as a possible duplicate", possible_duplicate=True)
        case Policy.DROP:
            return Verdict(Action.FAIL, "declared: give up when unclear")
        case Policy.ASK:
            return Verdict(Action.ASK, "nobody can tell whether it was done")
