"""Effects: the table of states."""

import pytest

from sessionstore.effect import ENDED, TRANSITIONS, EffectState


def test_the_table_names_every_state() -> None:
    assert TRANSITIONS.keys() == set(EffectState)


def test_nothing_is_sent_that_was_not_pending_or_waiting_to_be_tried_again() -> None:
    before_sending = {s for s, after in TRANSITIONS.items() if EffectState.SENDING in after}
    assert before_sending == {EffectState.PENDING, EffectState.RETRY}


def test_nothing_ever_becomes_pending_again() -> None:
    assert not any(EffectState.PENDING in after for after in TRANSITIONS.values())


def test_delivered_and_cancelled_are_for_ever() -> None:
    assert TRANSITIONS[EffectState.DELIVERED] == TRANSITIONS[EffectState.CANCELLED] == frozenset()


@pytest.mark.parametrize("ended", sorted(ENDED))
def test_what_has_ended_can_at_most_be_sent_again_on_request(ended: EffectState) -> None:
    assert TRANSITIONS[ended] <= {EffectState.RETRY}


@pytest.mark.parametrize("state", sorted(set(EffectState) - ENDED))
def test_every_open_state_can_reach_an_end(state: EffectState) -> None:
    reached, frontier = set[EffectState](), {state}
    while frontier:
        reached |= frontier
        frontier = {after for s in frontier for after in TRANSITIONS[s]} - reached
    assert EffectState.DELIVERED in reached
    assert EffectState.FAILED in reached


def test_unknown_is_only_reached_where_it_has_been_sent() -> None:
    assert {s for s, after in TRANSITIONS.items() if EffectState.UNKNOWN in after} == {
        EffectState.SENDING,
        EffectState.RETRY,
        EffectState.UNKNOWN,
    }
