"""Turnline: one session, one turn at a time, on any channel.

Agents and turns: `Agent`, `App`, `Turn`, `Session`, `Message`, `QueuePolicy`, `Failure`.
What continuations get: `Decision`, `Outcome`, `Fired`.
Tools: `ToolCall`, `ToolFailed`, `ToolNotReady`, and what a look-up returns: `Absent`, `Running`, `Succeeded`, `Failed`,
`Changed`, `CannotTell`.
Adapters of your own: `EffectAdapter`, `Limits`, `Idempotency`, `Sending`, and what a send returns: `Delivered`,
`NotSent`, `Rejected`, `Unknown`.
Errors: `TurnlineError`.
"""

from consumers.agent import Agent, App, Failure, QueuePolicy
from consumers.outcome import Decision, Fired, Outcome
from consumers.tools import ToolCall, ToolFailed, ToolNotReady
from consumers.turn import Message, Session, Turn
from outbox.adapter import (
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
from outbox.adapter import FailedThere as Failed
from sessionstore.errors import TurnlineError

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
    # errors
    "TurnlineError",
]
