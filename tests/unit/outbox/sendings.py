"""Attempts as adapters see them, for tests."""

from typing import Any

from outbox.adapter import Sending


async def ignore_started(external_id: str) -> None:
    """The call reported an id that nobody needs."""


def sending(target: dict[str, Any], body: dict[str, Any], *, attempt: int = 1, external_id: str = "") -> Sending:
    return Sending(
        key="eff_1",
        session="agent:a/dm:1",
        tenant="default",
        attempt=attempt,
        target=target,
        body=body,
        created_at=0.0,
        started=ignore_started,
        external_id=external_id,
    )
