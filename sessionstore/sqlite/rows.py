"""Between rows and nouns: the only place that knows the order of columns."""

from typing import Any

import orjson

from sessionstore.effect import Claimed, Effect, EffectState
from sessionstore.event import Event, Kind, Rank
from sessionstore.inbox import InboxRow
from sessionstore.session import Head, Status, Totals
from sessionstore.timer import CronJob


def event_body(event: Event) -> bytes:
    """An event as stored in the inbox: all but what its row's columns hold."""
    body: dict[str, Any] = {"type": event.type, "agent": event.agent, "data": event.data, "time": event.time}
    for name in ("subject", "sender", "reply_route", "trace", "policy"):
        value = getattr(event, name)
        if value:
            body[name] = value
    if event.headers:
        body["headers"] = dict(event.headers)
    body["kind"], body["rank"], body["due"] = event.kind.value, int(event.rank), event.due
    body["source"], body["id"] = event.source, event.id
    return orjson.dumps(body)


def event_from(tenant: str, session: str, body: bytes) -> Event:
    """The event again."""
    b = orjson.loads(body)
    return Event(
        tenant=tenant,
        source=b["source"],
        id=b["id"],
        type=b["type"],
        session=session,
        agent=b["agent"],
        data=b["data"],
        time=b["time"],
        kind=Kind(b["kind"]),
        rank=Rank(b["rank"]),
        subject=b.get("subject", ""),
        sender=b.get("sender", ""),
        reply_route=b.get("reply_route"),
        due=b["due"],
        trace=b.get("trace", ""),
        policy=b.get("policy", ""),
        headers=b.get("headers", {}),
    )


def inbox_row(tenant: str, session: str, row: tuple[int, float, int, float, bytes]) -> InboxRow:
    """From `pos, received_at, epoch, due, body`."""
    pos, received_at, epoch, due, body = row
    return InboxRow(pos, event_from(tenant, session, body), received_at, epoch, due, len(body))


def head_from(tenant: str, session: str, row: tuple[Any, ...]) -> Head:
    """From the columns that `session_acquire` returns."""
    agent, status, epoch, version, seq, fence, tail, run_id, last_turn, attempt, attempt_pos, route = row[:12]
    turns, tokens, cost, seconds, created_at, updated_at = row[12:18]
    return Head(
        tenant=tenant,
        session=session,
        agent=agent,
        status=Status(status),
        epoch=epoch,
        version=version,
        seq=seq,
        fence=fence,
        tail=tail,
        run_id=run_id,
        last_turn=last_turn,
        attempt=attempt,
        attempt_pos=attempt_pos,
        reply_route=orjson.loads(route) if route else None,
        totals=Totals(turns, tokens, cost, seconds),
        created_at=created_at,
        updated_at=updated_at,
    )


def claimed_from(row: tuple[Any, ...]) -> Claimed:
    """From the columns that `outbox_get` returns."""
    (pos, tenant, session, agent, epoch, run_id, turn_id, effect_id, adapter, lane, target, body, summary) = row[:13]
    (then, binds, approval, route, expires_at, on_unknown, state, attempts, claim, until) = row[13:23]
    (created_at, sent_at, external_id, unwanted, error, checks, unclear) = row[23:30]
    effect = Effect(
        effect_id=effect_id,
        adapter=adapter,
        lane=lane,
        target=orjson.loads(target),
        body=orjson.loads(body),
        summary=summary,
        then=then,
        binds=orjson.loads(binds) if binds else {},
        approval=approval,
        expires_at=expires_at,
        on_unknown=on_unknown,
        route=orjson.loads(route) if route else None,
    )
    return Claimed(
        pos=pos,
        tenant=tenant,
        session=session,
        agent=agent,
        epoch=epoch,
        run_id=run_id,
        turn_id=turn_id,
        effect=effect,
        state=EffectState(state),
        attempts=attempts,
        nonce=claim or "",
        until=until or 0.0,
        created_at=created_at,
        sent_at=sent_at,
        external_id=external_id,
        unwanted=bool(unwanted),
        error=error,
        checks=checks,
        unclear=bool(unclear),
    )


def cron_from(row: tuple[Any, ...]) -> CronJob:
    """From the columns that `cron_list` returns."""
    (tenant, job, agent, handler, session, schedule, tz, misfire, overlap, grace_s, data) = row[:11]
    (next_due, last_nominal, paused, revision) = row[11:]
    return CronJob(
        tenant=tenant,
        job=job,
        agent=agent,
        handler=handler,
        session=session,
        schedule=schedule,
        tz=tz,
        misfire=misfire,
        overlap=overlap,
        grace_s=grace_s,
        data=orjson.loads(data),
        next_due=next_due,
        last_nominal=last_nominal,
        paused=bool(paused),
        revision=revision,
    )
