"""The recovery coordinator: every combination of what can be known, against rules that are stated on their own."""

from itertools import product

import pytest

from consumers.recovery import Action, Facts, Found, Policy, Verdict, decide_effect
from outbox.adapter import Idempotency

BOOLEANS = (True, False)
NAMES = ("idempotency", "found", "facts", "wanted", "started", "in_window", "settled", "budget_left", "policy")
EVERY = [
    dict(zip(NAMES, values, strict=True))
    for values in product(Idempotency, Found, Facts, BOOLEANS, BOOLEANS, BOOLEANS, BOOLEANS, BOOLEANS, Policy)
]
SEEN = (Found.SUCCEEDED, Found.FAILED, Found.RUNNING)


class Case:
    """One combination, by name."""

    idempotency: Idempotency
    found: Found
    facts: Facts
    wanted: bool
    started: bool
    in_window: bool
    settled: bool
    budget_left: bool
    policy: Policy

    def __init__(self, values: dict[str, object]) -> None:
        self.__dict__.update(values)
        idempotency, found, facts = self.idempotency, self.found, self.facts
        rest = {name: values[name] for name in NAMES[3:]}
        self.verdict: Verdict = decide_effect(idempotency, found, facts, **rest)  # type: ignore[arg-type]
        self.native = idempotency is Idempotency.NATIVE and self.in_window
        self.proven_absent = found is Found.ABSENT and self.settled and self.in_window and not self.started

    def __repr__(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in NAMES) + f" -> {self.verdict}"


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [Case(values) for values in EVERY]


def breaches(cases: list[Case], *actions: Action, unless: object = None) -> list[Case]:
    """Cases with one of the actions for which the condition does not hold."""
    assert callable(unless)
    chosen = [case for case in cases if case.verdict.action in actions]
    assert chosen, f"no combination leads to {actions}"
    return [case for case in chosen if not unless(case)][:3]


def test_all_combinations_are_listed_and_each_has_a_reason(cases: list[Case]) -> None:
    assert len(cases) == 3 * 7 * 2 * 2**5 * 3
    assert all(case.verdict.reason for case in cases)


def test_what_was_seen_done_is_recorded_whatever_has_changed(cases: list[Case]) -> None:
    assert {c.verdict.action for c in cases if c.found is Found.SUCCEEDED} == {Action.RECORD}


def test_nothing_is_recorded_that_was_not_seen_done(cases: list[Case]) -> None:
    assert not breaches(cases, Action.RECORD, unless=lambda c: c.found is Found.SUCCEEDED)


def test_what_was_seen_failed_has_failed(cases: list[Case]) -> None:
    assert {c.verdict.action for c in cases if c.found is Found.FAILED} == {Action.FAIL}


def test_what_is_under_way_is_waited_for(cases: list[Case]) -> None:
    assert {c.verdict.action for c in cases if c.found is Found.RUNNING} == {Action.WAIT}


def test_nothing_unwanted_is_sent_again(cases: list[Case]) -> None:
    assert not breaches(cases, Action.RESEND, unless=lambda c: c.wanted)


def test_nothing_is_sent_again_when_its_facts_have_moved(cases: list[Case]) -> None:
    assert not breaches(cases, Action.RESEND, unless=lambda c: c.facts is Facts.HOLD and c.found is not Found.CHANGED)


def test_nothing_is_sent_again_without_budget(cases: list[Case]) -> None:
    assert not breaches(cases, Action.RESEND, unless=lambda c: c.budget_left)


def test_a_plain_resend_is_vouched_for_by_the_key_or_by_a_look_up(cases: list[Case]) -> None:
    plain = [c for c in cases if not c.verdict.possible_duplicate]
    assert not breaches(plain, Action.RESEND, unless=lambda c: c.native or c.proven_absent)


def test_what_had_started_and_is_absent_is_only_sent_again_under_a_key_that_is_done_once(cases: list[Case]) -> None:
    lost = [c for c in cases if c.started and c.found is Found.ABSENT]
    assert all(c.native for c in lost if c.verdict.action is Action.RESEND)


def test_a_key_that_the_other_side_has_forgotten_vouches_for_nothing(cases: list[Case]) -> None:
    late = [c for c in cases if not c.in_window and c.verdict.action is Action.RESEND]
    assert all(c.verdict.possible_duplicate for c in late)


def test_only_a_declared_policy_sends_a_possible_duplicate(cases: list[Case]) -> None:
    doubtful = [c for c in cases if c.verdict.possible_duplicate]
    assert doubtful
    assert all(c.policy is Policy.RESEND and c.verdict.action is Action.RESEND for c in doubtful)


def test_what_may_still_be_on_its_way_is_not_sent_again_for_being_absent(cases: list[Case]) -> None:
    early = [c for c in cases if c.found is Found.ABSENT and c.in_window and not c.settled and not c.native]
    assert Action.RESEND not in {c.verdict.action for c in early}


def test_a_declared_drop_gives_up_only_what_nobody_can_tell(cases: list[Case]) -> None:
    dropped = [c for c in cases if c.verdict.action is Action.FAIL and c.found is not Found.FAILED]
    assert dropped
    assert all(c.policy is Policy.DROP and c.wanted and not c.native and not c.proven_absent for c in dropped)


def test_only_what_is_unwanted_and_surely_not_done_is_cancelled(cases: list[Case]) -> None:
    assert not breaches(cases, Action.CANCEL, unless=lambda c: not c.wanted and c.proven_absent)


def test_an_approval_is_only_asked_anew_when_nothing_was_done(cases: list[Case]) -> None:
    assert not breaches(
        cases,
        Action.VOID,
        unless=lambda c: c.wanted and (c.found is Found.CHANGED or (c.facts is Facts.MOVED and c.proven_absent)),
    )


def test_what_moved_and_was_surely_not_done_is_asked_anew(cases: list[Case]) -> None:
    moved = [c for c in cases if c.wanted and c.facts is Facts.MOVED and c.proven_absent]
    assert {c.verdict.action for c in moved} == {Action.VOID}


def test_a_key_that_is_done_once_is_sent_again(cases: list[Case]) -> None:
    able = [
        c
        for c in cases
        if c.native and c.wanted and c.budget_left and c.facts is Facts.HOLD and c.found is Found.NOT_LOOKED
    ]
    assert {c.verdict.action for c in able} == {Action.RESEND}


def test_waiting_ends_except_for_what_is_seen_under_way(cases: list[Case]) -> None:
    assert not breaches(cases, Action.WAIT, unless=lambda c: c.budget_left or c.found is Found.RUNNING)


def test_waiting_needs_something_that_can_still_become_clear(cases: list[Case]) -> None:
    assert not breaches(
        cases, Action.WAIT, unless=lambda c: c.found in (Found.RUNNING, Found.CANNOT_TELL, Found.ABSENT)
    )


@pytest.mark.parametrize(
    ("policy", "action"), [(Policy.ASK, Action.ASK), (Policy.RESEND, Action.RESEND), (Policy.DROP, Action.FAIL)]
)
def test_where_nothing_can_be_known_the_policy_decides(cases: list[Case], policy: Policy, action: Action) -> None:
    blind = [
        c
        for c in cases
        if c.found is Found.NOT_LOOKED
        and not c.native
        and c.wanted
        and c.budget_left
        and c.facts is Facts.HOLD
        and c.policy is policy
    ]
    assert {c.verdict.action for c in blind} == {action}
