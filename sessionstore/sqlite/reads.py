"""Queries of people and tools on SQLite."""

from collections.abc import Sequence
from typing import Any

import orjson

from sessionstore.clock import Clock
from sessionstore.inbox import SessionRef
from sessionstore.reads import Balance, Pressure
from sessionstore.sqlite.counters import HOUR_S
from sessionstore.sqlite.database import Database
from sessionstore.sqlite.waits import wait_dict

HEAD = [
    "tenant",
    "session",
    "agent",
    "status",
    "epoch",
    "version",
    "seq",
    "fence",
    "owner",
    "lease_until",
    "due",
    "run_id",
    "last_turn",
    "attempt",
    "attempt_error",
    "reply_route",
    "turns",
    "tokens",
    "cost",
    "seconds",
    "created_at",
    "updated_at",
    "queued",
    "effects_open",
    "record",
]
EFFECT = [
    "pos",
    "effect_id",
    "tenant",
    "session",
    "agent",
    "epoch",
    "run_id",
    "turn_id",
    "lane",
    "adapter",
    "target",
    "body",
    "summary",
    "then",
    "binds",
    "approval",
    "on_unknown",
    "state",
    "due",
    "expires_at",
    "attempts",
    "checks",
    "claim_until",
    "external_id",
    "receipt",
    "result",
    "error",
    "unwanted",
    "possible_duplicate",
    "created_at",
    "sent_at",
    "settled_at",
]
DEAD = ["dead_id", "tenant", "session", "source", "event_id", "pos", "reason", "raw", "at", "state"]
QUEUED_SHOWN_MAX = 50


class SqliteReads:
    """See `Reads`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._db = database
        self._clock = clock

    async def sessions(
        self,
        tenant: str | None,
        *,
        query: str = "",
        limit: int = 100,
        before: float | None = None,
        before_key: str = "",
    ) -> list[dict[str, Any]]:
        """See `Reads.sessions`."""
        parameters = (tenant, query, before, limit, before_key)
        rows = await self._db.read(lambda tx: tx.all("read_sessions", parameters))
        return [_head(row) for row in rows]

    async def session(self, ref: SessionRef) -> dict[str, Any] | None:
        """See `Reads.session`."""
        key = (ref.tenant, ref.session)
        row = await self._db.read(lambda tx: tx.one("read_session", key))
        if row is None:
            return None
        queued = await self._db.read(lambda tx: tx.all("read_queued", (*key, QUEUED_SHOWN_MAX)))
        head = _head(row)
        head["queued_rows"] = [_queued(item) for item in queued]
        head["waits"] = await self.waits(ref.tenant, session=ref.session)
        return head

    async def transcript(self, ref: SessionRef, *, after: int = 0, limit: int = 200) -> list[dict[str, Any]]:
        """See `Reads.transcript`."""
        rows = await self._db.read(lambda tx: tx.all("read_transcript", (ref.tenant, ref.session, after, limit)))
        names = ("seq", "epoch", "type", "at", "turn_id")
        return [{**dict(zip(names, row[:5], strict=True)), "body": orjson.loads(row[5])} for row in rows]

    async def newest_seq(self, ref: SessionRef) -> int:
        """See `Reads.newest_seq`."""
        row = await self._db.read(lambda tx: tx.one("read_seq", (ref.tenant, ref.session)))
        return int(row[0]) if row else 0

    async def newest_seqs(self, refs: Sequence[SessionRef]) -> dict[SessionRef, int]:
        """See `Reads.newest_seqs`."""
        wanted = orjson.dumps([[ref.tenant, ref.session] for ref in refs]).decode()
        rows = await self._db.read(lambda tx: tx.all("read_seqs", (wanted,)))
        return {SessionRef(tenant, session): seq for tenant, session, seq in rows}

    async def last_texts(self, tenant: str, sessions: Sequence[str]) -> dict[str, str]:
        """See `Reads.last_texts`."""
        wanted = orjson.dumps(list(sessions)).decode()
        rows = await self._db.read(lambda tx: tx.all("read_last_messages", (tenant, wanted)))
        texts = {session: _text(orjson.loads(body)) for session, body in rows if body is not None}
        return {session: text for session, text in texts.items() if text}

    async def effects(
        self, tenant: str | None, *, session: str | None = None, states: Sequence[str] = (), limit: int = 100
    ) -> list[dict[str, Any]]:
        """See `Reads.effects`."""
        wanted = f",{','.join(states)}," if states else ""
        name = "read_effects" if session is None or tenant is None else "read_session_effects"
        rows = await self._db.read(lambda tx: tx.all(name, (tenant, session, wanted, limit)))
        return [_effect(row) for row in rows]

    async def effect(self, effect_id: str) -> dict[str, Any] | None:
        """See `Reads.effect`."""
        row = await self._db.read(lambda tx: tx.one("read_effect", (effect_id,)))
        return None if row is None else _effect(row)

    async def effect_states(self, effect_ids: Sequence[str]) -> dict[str, str]:
        """See `Reads.effect_states`."""
        if not effect_ids:
            return {}
        wanted = orjson.dumps(list(effect_ids)).decode()
        return dict(await self._db.read(lambda tx: tx.all("read_effect_states", (wanted,))))

    async def waits(
        self, tenant: str | None, *, session: str | None = None, status: str = "open", kind: str = "", limit: int = 100
    ) -> list[dict[str, Any]]:
        """See `Reads.waits`."""
        rows = await self._db.read(lambda tx: tx.all("read_waits", (tenant, session, status, limit, kind)))
        return [wait_dict(row) for row in rows]

    async def dead(self, tenant: str | None, *, limit: int = 100) -> list[dict[str, Any]]:
        """See `Reads.dead`."""
        rows = await self._db.read(lambda tx: tx.all("read_dead", (tenant, limit)))
        return [dict(zip(DEAD, row, strict=True)) for row in rows]

    async def dead_letter(self, dead_id: str) -> dict[str, Any] | None:
        """See `Reads.dead_letter`."""
        row = await self._db.read(lambda tx: tx.one("dead_get", (dead_id,)))
        return None if row is None else dict(zip(DEAD, row, strict=True))

    async def dropped(self, tenant: str | None, *, event_id: str = "", limit: int = 100) -> list[dict[str, Any]]:
        """See `Reads.dropped`."""
        rows = await self._db.read(lambda tx: tx.all("read_dropped", (tenant, event_id, limit)))
        names = ("tenant", "session", "source", "event_id", "reason", "at")
        return [dict(zip(names, row[:6], strict=True)) for row in rows]

    async def trail(self, *, limit: int = 100) -> list[dict[str, Any]]:
        """See `Reads.trail`."""
        rows = await self._db.read(lambda tx: tx.all("read_trail", (limit,)))
        names = ("id", "at", "tenant", "actor", "action", "target", "detail")
        return [dict(zip(names, row, strict=True)) for row in rows]

    async def balances(
        self, tenant: str | None, *, since_hour: int | None = None, until_hour: int | None = None
    ) -> list[Balance]:
        """See `Reads.balances`."""
        hours = (tenant, since_hour, until_hour)
        times = (tenant, *(None if h is None else h * HOUR_S for h in (since_hour, until_hour)))
        counted, inbox, outbox = await self._db.read(
            lambda tx: (
                dict(tx.all("balance_counters", hours)),
                dict(tx.all("balance_inbox", times)),
                dict(tx.all("balance_outbox", times)),
            )
        )
        return [
            Balance("accepted", counted.get("accepted", 0), inbox, counted.get("accepted.pruned", 0)),
            Balance("intended", counted.get("intended", 0), outbox, counted.get("intended.pruned", 0)),
        ]

    async def pressure(self) -> Pressure:
        """See `Reads.pressure`."""
        now = self._clock.now()
        return Pressure(*await self._db.read(lambda tx: tx.one("read_pressure", (now,))))

    async def gaps(self, tenant: str | None) -> list[dict[str, Any]]:
        """See `Reads.gaps`."""
        rows = await self._db.read(lambda tx: tx.all("read_gaps", (tenant,)))
        names = ("tenant", "session", "seq", "rows", "first", "last")
        return [dict(zip(names, row, strict=True)) for row in rows]

    async def record(self, ref: SessionRef) -> tuple[int, bytes, str] | None:
        """See `Reads.record`."""
        found = await self._db.read(lambda tx: tx.one("read_record", (ref.tenant, ref.session)))
        return None if found is None else (found[0], found[1], found[2])

    async def artifact_refs(self, ref: SessionRef, *, limit: int = 10_000) -> list[dict[str, Any]]:
        """See `Reads.artifact_refs`."""
        rows = await self._db.read(lambda tx: tx.all("read_artifact_refs", (ref.tenant, ref.session, limit)))
        return [{"digest": digest, "seq": seq} for digest, seq in rows]

    async def referenced(self, digests: Sequence[str]) -> set[str]:
        """See `Reads.referenced`."""
        if not digests:
            return set()
        wanted = orjson.dumps(list(digests)).decode()
        rows = await self._db.read(lambda tx: tx.all("read_referenced", (wanted,)))
        return {digest for (digest,) in rows}

    async def checkpoint(self, ref: SessionRef, at_or_before: int) -> tuple[int, bytes, str] | None:
        """See `Reads.checkpoint`."""
        key = (ref.tenant, ref.session, at_or_before)
        found = await self._db.read(lambda tx: tx.one("read_checkpoint", key))
        return None if found is None else (found[0], found[1], found[2])


def _head(row: Sequence[Any]) -> dict[str, Any]:
    out = dict(zip(HEAD, row, strict=True))
    for name in ("reply_route", "record"):
        out[name] = orjson.loads(out[name]) if out[name] else None
    return out


def _text(body: Any) -> str:
    """What a message's transcript event says: its own text (sent), or that of its data (received)."""
    said = body.get("text", body.get("data"))
    if isinstance(said, dict):
        said = said.get("text")
    return said if isinstance(said, str) else ""


def _queued(row: Sequence[Any]) -> dict[str, Any]:
    pos, kind, rank, due, received_at, body = row
    event = orjson.loads(body)
    return {"pos": pos, "kind": kind, "rank": rank, "due": due, "received_at": received_at, "event": event}


def _effect(row: Sequence[Any]) -> dict[str, Any]:
    out = dict(zip(EFFECT, row, strict=True))
    for name in ("target", "body", "binds", "result"):
        out[name] = orjson.loads(out[name]) if out[name] is not None else None
    for name in ("unwanted", "possible_duplicate"):
        out[name] = bool(out[name])
    return out
