"""Samples: events, leases, closing commits and effects with everything filled in that a test does not care about."""

from collections.abc import Sequence
from typing import Any

from sessionstore.commit import Committed, Entry, TurnCommit
from sessionstore.effect import Claimed, Effect
from sessionstore.event import Event
from sessionstore.inbox import Accepted, NewRow, SessionRef
from sessionstore.leases import Held
from sessionstore.record import canonical, checksum, new_record
from sessionstore.session import Status, Totals
from sessionstore.store import Store

TENANT = "acme"
KEY = "agent:a/dm:1"
REF = SessionRef(TENANT, KEY)
TTL_S = 30.0


def key(n: int) -> str:
    return f"agent:a/dm:{n}"


def ref(n: int) -> SessionRef:
    return SessionRef(TENANT, key(n))


def event(id_: str, session: str = KEY, **changes: Any) -> Event:
    given: dict[str, Any] = {
        "tenant": TENANT,
        "source": "test",
        "type": "message",
        "agent": "a",
        "data": {"text": id_},
        **changes,
    }
    return Event(id=id_, session=session, **given)


def new(id_: str, session: str = KEY, *, body: bytes = b"", dropped: str = "", **changes: Any) -> NewRow:
    return NewRow(event(id_, session, **changes), body_hash=body, dropped=dropped)


async def put(store: Store, *ids: str, session: str = KEY) -> list[Accepted]:
    results = await store.inbox.put([new(id_, session) for id_ in ids])
    assert all(isinstance(r, Accepted) for r in results), results
    return [r for r in results if isinstance(r, Accepted)]


async def acquire(store: Store, session: SessionRef = REF, owner: str = "w1", ttl_s: float = TTL_S) -> Held:
    [held] = await store.leases.acquire([session], owner, ttl_s)
    assert isinstance(held, Held), held
    return held


def effect(id_: str, lane: str = "chat", **changes: Any) -> Effect:
    given: dict[str, Any] = {"adapter": "fake", "target": {"to": "x"}, "body": {"text": id_}, **changes}
    return Effect(effect_id=id_, lane=lane, **given)


def closing(held: Held, members: Sequence[int] | None = None, turn_id: str = "", **changes: Any) -> TurnCommit:
    """A turn that settles the next row and writes one entry."""
    record = canonical(new_record())
    given: dict[str, Any] = {
        "entries": (Entry("message.in", {"text": "hello"}),),
        "status": Status.ACTIVE,
        "totals": Totals(turns=held.head.totals.turns + 1),
        **changes,
    }
    return TurnCommit(
        lease=held.lease,
        version=held.head.version,
        turn_id=turn_id or f"{held.lease.ref.session}@{held.head.version}",
        members=(held.next_pos,) if members is None else tuple(members),
        first_seq=held.head.seq + 1,
        record=record,
        record_sha256=checksum(record),
        **given,
    )


async def run_turn(store: Store, session: SessionRef = REF, **changes: Any) -> Committed:
    """Take the lease, close one turn over the next row, give the lease back."""
    held = await acquire(store, session)
    [result] = await store.commits.commit([closing(held, **changes)])
    assert isinstance(result, Committed), result
    await store.leases.release([held.lease])
    return result


async def intend(store: Store, *effects: Effect, session: SessionRef = REF, **changes: Any) -> Committed:
    """A turn over a new event that decides on these effects."""
    queued = await store.reads.session(session)
    n = queued["version"] if queued else 0
    await put(store, f"cause-{n}-of-{session.session}", session=session.session)
    return await run_turn(store, session, effects=effects, **changes)


async def claim_one(store: Store, ttl_s: float = TTL_S) -> Claimed:
    [claimed] = await store.outbox.claim(["fake"], 10, ttl_s)
    return claimed


async def state_of(store: Store, effect_id: str) -> str:
    row = await store.reads.effect(effect_id)
    assert row is not None
    return str(row["state"])


async def traces(store: Store, session: SessionRef = REF) -> dict[str, Any]:
    """Everything that a commit could have left, for comparison before and after a refused one."""
    head = await store.reads.session(session)
    return {
        "head": {k: v for k, v in (head or {}).items() if k not in ("lease_until", "fence", "owner")},
        "transcript": await store.reads.transcript(session),
        "record": await store.reads.record(session),
        "effects": await store.reads.effects(session.tenant, session=session.session),
        "waits": await store.reads.waits(session.tenant, session=session.session, status=""),
        "queued": await store.inbox.queued(session, 1_000),
        "dead": await store.reads.dead(session.tenant),
        "balances": await store.reads.balances(None),
    }


def refers(name: str, digest: str) -> Entry:
    """The event of a named artifact."""
    return Entry("artifact.stored", {"name": name, "digest": digest, "size": 1, "media_type": "text/plain"})
