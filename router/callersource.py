"""The source under which a caller's event is kept: nobody speaks in the name of another, nor of ourselves.

`(tenant, source, id)` names an event, so whoever may use a source can take its ids, and a repeat tells the session of
the first arrival. Hence a scoped token's events come from `api:TOKEN/SOURCE`: two tokens never meet. An administrator's
token may speak for any outside source, and its source is kept as it was sent; only our own are refused: those whose
first word (up to a colon) is in `INTERNAL_SOURCES`, and the names of hooks, whose events are signed.
"""

from collections.abc import Collection
from typing import Final
from urllib.parse import quote

from sessionstore.errors import NotAllowed

API = "api"
INTERNAL_SOURCES: Final = frozenset(
    {API, "cli", "console", "cron", "operator", "outbox", "spawn", "timer", "turnline", "wait", "webchat"}
)


def caller_source(principal: str, admin: bool, source: str, hooks: Collection[str]) -> str:
    """The source to keep. Raises NotAllowed when it would be somebody else's."""
    if not admin:
        return f"{API}:{quote(principal, safe='')}/{source}"
    if source.partition(":")[0].lower() in INTERNAL_SOURCES or source in hooks:
        raise NotAllowed(
            f"source: {source!r} is used by events of this server's own",
            hint="name the system that the event comes from, for example ci or https://ci.example.com",
        )
    return source
