"""The roll call: every session once, in pages, while the store goes on working.

Heads are listed by their newest change, and a session that commits meanwhile jumps to the front, behind the reader's
back. So what changed since a sweep began is swept again, until a sweep finds nobody new. Sessions that changed in the
same instant share a time; a page therefore begins with the last instant of the one before, and known ones are skipped.
"""

import math
from collections.abc import AsyncIterator
from typing import Any

from sessionstore.errors import Damaged
from sessionstore.inbox import SessionRef
from sessionstore.reads import Reads

PAGE_ROWS_MAX = 50
SWEEPS_MAX = 5  # a store that gets new sessions all the time must not hold the caller for ever


async def every_session(
    reads: Reads, tenant: str | None, *, page_rows_max: int = PAGE_ROWS_MAX
) -> AsyncIterator[dict[str, Any]]:
    """Each session's head, as `Reads.sessions` gives it. Only the refs of those that were given stay in memory."""
    seen: set[SessionRef] = set()
    since = -math.inf
    for _ in range(SWEEPS_MAX):
        newest, before = since, len(seen)
        async for head in _sweep(reads, tenant, since, page_rows_max):
            newest = max(newest, head["updated_at"])
            ref = SessionRef(head["tenant"], head["session"])
            if ref not in seen:
                seen.add(ref)
                yield head
        if len(seen) == before:
            return
        since = newest


async def _sweep(reads: Reads, tenant: str | None, since: float, page_rows_max: int) -> AsyncIterator[dict[str, Any]]:
    before, limit = None, page_rows_max
    while True:
        heads = await _page(reads, tenant, before, limit)
        for head in heads:
            yield head
        if len(heads) < limit or heads[-1]["updated_at"] < since:
            return
        following = math.nextafter(heads[-1]["updated_at"], math.inf)
        # A whole page of one instant: only a longer one can reach past it.
        limit = limit * 2 if following == before else page_rows_max
        before = following


async def _page(reads: Reads, tenant: str | None, before: float | None, limit: int) -> list[dict[str, Any]]:
    try:
        return await reads.sessions(tenant, limit=limit, before=before)
    except ValueError as error:
        raise Damaged(
            "a session's stored record is not JSON, so that sessions cannot be listed",
            hint="`turnline verify KEY` checks one session by its key; restore the file from a backup",
        ) from error
