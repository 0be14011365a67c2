"""Effect adapters: one send, four possible ends, and the end is told truly whatever the wire does."""

import asyncio
import socket
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from outbox.adapter import (
    Absent,
    CannotTell,
    Delivered,
    FailedThere,
    LookupResult,
    NotSent,
    Rejected,
    Running,
    Sending,
    SendResult,
    Succeeded,
    Unknown,
)
from tests.conformance.adapters import ADAPTERS, TIMEOUT_S, Case
from tests.conformance.receiver import RETRY_AFTER_S, Fault, Receiver, receiving

WITH_LOOKUP = sorted(name for name in ADAPTERS if name.endswith("-lookup"))
WITHOUT_LOOKUP = sorted(ADAPTERS.keys() - set(WITH_LOOKUP))
DONE = [Fault.DROP, Fault.RESET, Fault.HANG, Fault.BROKEN]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.fixture(params=sorted(ADAPTERS))
async def case(request: pytest.FixtureRequest, receiver: Receiver) -> AsyncIterator[Case]:
    case = ADAPTERS[request.param](receiver.url)
    yield case
    await case.adapter.close()


async def started(external_id: str) -> None:
    return None


def sending(case: Case, key: str = "key-1", attempt: int = 1) -> Sending:
    return Sending(
        key=key,
        session="agent:a/dm:1",
        tenant="acme",
        attempt=attempt,
        target=case.target,
        body=case.body,
        created_at=0.0,
        started=started,
    )


async def send(case: Case, key: str = "key-1", attempt: int = 1) -> SendResult:
    """As a relay does: cut off after the time that the adapter's limits name; an exception counts as unknown."""
    limits = case.adapter.limits_for(case.target)
    try:
        async with asyncio.timeout(limits.timeout_s + 0.5):
            return await case.adapter.send(sending(case, key, attempt))
    except Exception as error:
        return Unknown(f"{type(error).__name__}: {error}")


async def look(case: Case, key: str = "key-1") -> LookupResult:
    return await case.adapter.lookup(sending(case, key))


async def test_its_limits_are_known_before_the_call(case: Case) -> None:
    limits = case.adapter.limits_for(case.target)
    assert limits.idempotency is case.idempotency
    assert limits.timeout_s == TIMEOUT_S


async def test_limits_of_an_address_that_it_does_not_know_are_data_too(case: Case) -> None:
    assert case.adapter.limits_for({}).attempts_max > 0


async def test_what_was_done_is_delivered_by_one_request_with_its_key(case: Case, receiver: Receiver) -> None:
    assert isinstance(await send(case), Delivered)
    assert receiver.arrivals == receiver.done == ["key-1"]


@pytest.mark.parametrize("fault", DONE)
async def test_what_may_have_been_done_is_unknown_after_one_request(
    case: Case, receiver: Receiver, fault: Fault
) -> None:
    receiver.fault = fault
    assert isinstance(await send(case), Unknown)
    assert receiver.arrivals == receiver.done == ["key-1"]


async def test_a_dead_pooled_connection_is_not_tried_twice(case: Case, receiver: Receiver) -> None:
    await send(case, "key-0")
    receiver.fault = Fault.RESET
    assert isinstance(await send(case), Unknown)
    assert receiver.arrivals == ["key-0", "key-1"]


@pytest.mark.parametrize("name", sorted(ADAPTERS))
async def test_a_refused_connection_is_proof_that_nothing_was_sent(name: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: whoever connects is refused
        case = ADAPTERS[name](f"http://127.0.0.1:{taken.getsockname()[1]}")
        result = await send(case)
        await case.adapter.close()
    assert isinstance(result, NotSent)
    assert not result.permanent


async def test_too_many_requests_is_not_sent_and_passes_on_how_long_to_wait(case: Case, receiver: Receiver) -> None:
    receiver.fault = Fault.TOO_MANY
    result = await send(case)
    assert isinstance(result, NotSent)
    assert not result.permanent
    assert result.retry_after_s == RETRY_AFTER_S


async def test_a_final_no_is_rejected(case: Case, receiver: Receiver) -> None:
    receiver.fault = Fault.BAD_REQUEST
    assert isinstance(await send(case), Rejected)
    assert receiver.done == []


async def test_a_second_attempt_carries_the_same_key_so_that_the_work_is_done_once(
    case: Case, receiver: Receiver
) -> None:
    receiver.fault = Fault.DROP
    assert isinstance(await send(case), Unknown)
    assert isinstance(await send(case, attempt=2), Delivered)
    assert receiver.arrivals == ["key-1", "key-1"]
    assert receiver.done == ["key-1"]


async def test_a_conflict_on_a_repeated_key_is_not_taken_for_a_failure_where_keys_are_done_once(
    case: Case, receiver: Receiver
) -> None:
    receiver.fault = Fault.CONFLICT
    result = await send(case, attempt=2)
    assert isinstance(result, Unknown if case.repeats else Rejected)


async def test_many_sends_at_once_do_not_mix_up_their_keys(case: Case, receiver: Receiver) -> None:
    results = await asyncio.gather(*(send(case, f"key-{n}") for n in range(20)))
    assert {type(r) for r in results} == {Delivered}
    assert sorted(receiver.done) == sorted(f"key-{n}" for n in range(20))


@pytest.mark.parametrize("case", WITH_LOOKUP, indirect=True)
async def test_a_send_that_is_cut_off_can_be_looked_up(case: Case, receiver: Receiver) -> None:
    assert isinstance(await look(case), Absent)
    receiver.fault = Fault.HANG
    assert isinstance(await send(case), Unknown)
    found = await look(case)
    assert isinstance(found, Succeeded)
    assert found.receipt == "job-1"
    assert receiver.arrivals == ["key-1"]


@pytest.mark.parametrize(
    ("job", "found"), [("running", Running), ("failed", FailedThere), ("odd", CannotTell), ("500", CannotTell)]
)
@pytest.mark.parametrize("case", WITH_LOOKUP, indirect=True)
async def test_a_look_up_tells_what_the_other_side_says_and_no_more(
    case: Case, receiver: Receiver, job: str, found: type[LookupResult]
) -> None:
    receiver.job = job
    assert isinstance(await look(case), found)
    assert receiver.asked == 1
    assert receiver.arrivals == []


@pytest.mark.parametrize("case", WITHOUT_LOOKUP, indirect=True)
async def test_without_a_look_up_nothing_follows_from_asking(case: Case) -> None:
    bare = replace(case, target={k: v for k, v in case.target.items() if k != "lookup"})
    assert isinstance(await look(bare), CannotTell)


async def test_closing_may_be_repeated(case: Case) -> None:
    await send(case)
    await case.adapter.close()
    await case.adapter.close()
