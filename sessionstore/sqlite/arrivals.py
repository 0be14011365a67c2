"""Putting an event into a session's inbox: the same few statements, whoever causes it."""

import orjson

from sessionstore.event import Event, ReplyRoute
from sessionstore.inbox import Accepted, InboxRow, RowStatus, SessionRef
from sessionstore.sqlite.counters import Tally
from sessionstore.sqlite.database import Transaction
from sessionstore.sqlite.rows import event_body


def arrive(tx: Transaction, tally: Tally, event: Event, now: float) -> Accepted | None:
    """Insert the row and move the head; None where the session has this event already.

    The row's position is above every earlier one of its session, since there is one writer at a time.
    """
    body = event_body(event)
    # 0 and not now: a clock that is set back later must not put off what was due at once.
    due = event.due
    cursor = tx.run(
        "inbox_insert",
        (
            event.tenant,
            event.session,
            event.source,
            event.id,
            event.kind.value,
            int(event.rank),
            RowStatus.QUEUED.value,
            due,
            now,
            None,
            body,
        ),
    )
    if cursor.rowcount == 0:
        return None
    pos = cursor.lastrowid or 0
    head = (event.tenant, event.session, event.agent, pos, due, now, int(event.rank))
    previous, epoch, _status = tx.one("session_arrive", head)
    tally.add(event.tenant, "accepted", now)
    accepted = Accepted(InboxRow(pos, event, now, epoch, due, len(body)), previous)
    tx.notice.rows.append(accepted)
    tx.notice.touched.add(SessionRef(event.tenant, event.session))
    return accepted


def route_json(route: ReplyRoute | None) -> bytes | None:
    """A route as stored."""
    return orjson.dumps(route) if route is not None else None
