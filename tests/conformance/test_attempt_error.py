"""Why a session's next turn failed is durable, and gone once the session commits."""

from sessionstore.inbox import SessionRef
from sessionstore.store import Store
from tests.conformance.samples import acquire, put, run_turn


async def error_of(store: Store, ref: SessionRef) -> str:
    row = await store.reads.session(ref)
    assert row is not None
    return str(row["attempt_error"])


async def test_the_error_of_an_attempt_is_kept_until_the_session_commits(store: Store) -> None:
    [row] = await put(store, "a")
    held = await acquire(store)
    ref = held.lease.ref
    assert await store.leases.attempt(held.lease, row.row.pos, due=0.0, error="ValueError: no such order") == 1
    assert await error_of(store, ref) == "ValueError: no such order"
    await store.leases.release([held.lease])
    await run_turn(store)
    assert await error_of(store, ref) == ""
