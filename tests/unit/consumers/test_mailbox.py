"""The mailbox: a bounded cache of one session's rows that knows when it may have missed some."""

from consumers.mailbox import Mailbox
from sessionstore.event import Rank
from tests.unit.consumers.rows import REF, accepted, ranked, row

BIG = 1_000_000


def seen(*positions: int) -> Mailbox:
    """A mailbox that has seen these rows one after the other, without a gap."""
    mailbox = Mailbox(REF, gap=False)
    previous = 0
    for pos in positions:
        mailbox.offer(accepted(pos, previous), 100, BIG)
        previous = pos
    return mailbox


def test_a_new_mailbox_does_not_know_what_it_missed() -> None:
    assert Mailbox(REF).gap


def test_rows_one_after_the_other_leave_no_gap() -> None:
    mailbox = seen(3, 5, 9)
    assert not mailbox.gap
    assert (mailbox.tail, sorted(mailbox.rows), mailbox.size) == (9, [3, 5, 9], 30)


def test_a_row_that_somebody_else_put_in_between_shows_as_a_gap() -> None:
    mailbox = seen(3)
    mailbox.offer(accepted(7, 5), 100, BIG)
    assert mailbox.gap


def test_over_the_bound_of_rows_they_stay_in_the_store_and_that_is_a_gap() -> None:
    mailbox = seen(1, 2)
    assert mailbox.offer(accepted(3, 2), 2, BIG) == 0
    assert mailbox.gap
    assert sorted(mailbox.rows) == [1, 2]
    assert mailbox.tail == 3


def test_over_the_bound_of_bytes_they_stay_in_the_store_and_that_is_a_gap() -> None:
    mailbox = seen(1)
    assert mailbox.offer(accepted(2, 1, size=95), 100, 100) == 0
    assert mailbox.gap


def test_bytes_are_counted_in_and_out() -> None:
    mailbox = seen()
    assert mailbox.offer(accepted(1, 0, size=40), 100, BIG) == 40
    assert mailbox.keep(row(1, size=40)) == 0
    assert mailbox.keep(row(2, size=2)) == 2
    taken = mailbox.take(1)
    assert taken is not None
    assert (taken.pos, mailbox.size) == (1, 2)
    assert mailbox.take(1) is None
    assert mailbox.forget() == 2
    assert mailbox.size == 0


def test_after_forgetting_the_store_is_asked() -> None:
    mailbox = seen(1)
    mailbox.forget()
    assert mailbox.gap
    assert mailbox.first_known(False, 0.0) is None


def test_commands_come_first_then_the_runs_rows_then_the_rest() -> None:
    mailbox = Mailbox(REF)
    for one in (ranked(1, Rank.REST), ranked(2, Rank.RUN), ranked(3, Rank.COMMAND)):
        mailbox.keep(one)
    order = []
    while (first := mailbox.first_known(False, 0.0)) is not None:
        order.append(first.pos)
        mailbox.take(first.pos)
    assert order == [3, 2, 1]


def test_behind_an_open_run_the_rest_is_held_back() -> None:
    mailbox = Mailbox(REF)
    mailbox.keep(ranked(1, Rank.REST))
    assert mailbox.first_known(True, 0.0) is None
    mailbox.keep(ranked(2, Rank.RUN))
    first = mailbox.first_known(True, 0.0)
    assert first is not None
    assert first.pos == 2


def test_nothing_overtakes_a_first_row_that_is_not_due_yet() -> None:
    mailbox = Mailbox(REF)
    mailbox.keep(row(1, due=10.0))
    mailbox.keep(row(2))
    assert mailbox.first_known(False, 9.0) is None
    first = mailbox.first_known(False, 10.0)
    assert first is not None
    assert first.pos == 1


def test_after_a_takeover_only_the_stores_word_and_what_came_since_is_kept() -> None:
    mailbox = seen(3, 5, 9)
    assert mailbox.taken(next_pos=5, tail=5) == 10
    assert (sorted(mailbox.rows), mailbox.size) == ([5, 9], 20)
    assert mailbox.gap  # row 3 may still be there, and is not to be overtaken


def test_after_a_takeover_that_finds_what_was_known_nothing_is_read_again() -> None:
    mailbox = seen(3)
    assert mailbox.taken(next_pos=3, tail=3) == 0
    assert not mailbox.gap


def test_after_a_takeover_with_nothing_to_run_no_older_row_is_kept() -> None:
    mailbox = seen(3, 5)
    assert mailbox.taken(next_pos=0, tail=5) == 20
    assert (mailbox.rows, mailbox.size) == ({}, 0)
