"""The ready queue: first come, first served inside a tenant, and tenants take turns."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from consumers.mailbox import Mailbox
from consumers.readyqueue import ReadyQueue
from sessionstore.inbox import SessionRef


def mailbox(tenant: str, n: int) -> Mailbox:
    return Mailbox(SessionRef(tenant, str(n)))


def filled(*refs: tuple[str, int]) -> ReadyQueue:
    queue = ReadyQueue()
    for tenant, n in refs:
        queue.push(mailbox(tenant, n))
    return queue


def taken(queue: ReadyQueue) -> list[tuple[str, str]]:
    out = []
    while (box := queue.pop()) is not None:
        out.append((box.ref.tenant, box.ref.session))
    return out


def test_an_empty_queue_gives_nothing() -> None:
    assert ReadyQueue().pop() is None
    assert len(ReadyQueue()) == 0


def test_inside_a_tenant_the_first_is_first() -> None:
    assert taken(filled(("a", 1), ("a", 2), ("a", 3))) == [("a", "1"), ("a", "2"), ("a", "3")]


def test_a_flood_of_one_tenant_delays_no_other() -> None:
    queue = filled(*(("flood", n) for n in range(1_000)), ("b", 1), ("c", 1))
    assert {tenant for tenant, _ in taken(queue)[:3]} == {"flood", "b", "c"}


def test_tenants_take_turns_while_more_is_pushed() -> None:
    queue = filled(("a", 1), ("a", 2), ("b", 1))
    order = []
    for n in range(6):
        box = queue.pop()
        assert box is not None
        order.append(box.ref.tenant)
        queue.push(mailbox("a", 10 + n))
    assert order[:3].count("b") == 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=40))
def test_everything_pushed_comes_out_once_and_in_order_per_tenant(refs: list[tuple[str, int]]) -> None:
    queue = filled(*refs)
    assert len(queue) == len(refs)
    out = taken(queue)
    for tenant in "abc":
        assert [n for t, n in out if t == tenant] == [str(n) for t, n in refs if t == tenant]
    assert len(queue) == 0


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60))
def test_no_tenant_waits_longer_than_one_round(tenants: list[str]) -> None:
    out = [tenant for tenant, _ in taken(filled(*((t, n) for n, t in enumerate(tenants))))]
    for tenant in set(out):
        places = [n for n, t in enumerate(out) if t == tenant]
        assert all(b - a <= 3 for a, b in pairwise(places))
