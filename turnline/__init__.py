"""Turnline: one session, one turn at a time, on any channel.

Agents and turns: `Agent`, `App`, `Turn`, `Session`, `Message`, `QueuePolicy`, `Failure`.
What continuations get: `Decision`, `Outcome`, `Fired`.
Tools: `ToolCall`, `ToolFailed`, `ToolNotReady`, and what a look-up returns: `Absent`, `Running`, `Succeeded`, `Failed`,
`Changed`, `CannotTell`.
Adapters of your own: `EffectAdapter`, `Limits`, `Idempotency`, `Sending`, and what a send returns: `Delivered`,
`NotSent`, `Rejected`, `Unknown`.
What a session keeps: `ArtifactRef`.
Errors: `TurnlineError`.
"""

from pathlib import Path as _Path

from turnline.frontdoor import check_neighbours as _check_neighbours

_check_neighbours(_Path(__file__).resolve().parent.parent)

from consumers.agent import Agent, App, Failure, QueuePolicy  # noqa: E402
from consumers.message import Message  # noqa: E402
from consumers.outcome import Decision, Fired, Outcome  # noqa: E402
from consumers.session import Session  # noqa: E402
from consumers.tools import ToolCall, ToolFailed, ToolNotReady  # noqa: E402
from consumers.turn import Turn  # noqa: E402
from outbox.adapter import (  # noqa: E402
    Absent,
    CannotTell,
    Changed,
    Delivered,
    EffectAdapter,
    Idempotency,
    Limits,
    NotSent,
    Rejected,
    Running,
    Sending,
    Succeeded,
    Unknown,
)
from outbox.adapter import FailedThere as Failed  # noqa: E402
from sessionstore.artifact import ArtifactRef  # noqa: E402
from sessionstore.errors import TurnlineError  # noqa: E402

__all__ = [
    # agents and turns
    "Agent",
    "App",
    "Failure",
    "Message",
    "QueuePolicy",
    "Session",
    "Turn",
    # what continuations get
    "Decision",
    "Fired",
    "Outcome",
    # tools
    "Absent",
    "CannotTell",
    "Changed",
    "Failed",
    "Running",
    "Succeeded",
    "ToolCall",
    "ToolFailed",
    "ToolNotReady",
    # adapters of your own
    "Delivered",
    "EffectAdapter",
    "Idempotency",
    "Limits",
    "NotSent",
    "Rejected",
    "Sending",
    "Unknown",
    # what a session keeps
    "ArtifactRef",
    # errors
    "TurnlineError",
]
