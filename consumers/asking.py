"""Asking anew: what an approval was bound to has changed, so the same question is put once more. Pure.

One approval may stand behind several effects, and each of them comes back as void. They make one new question: two
would be two yeses, and two runs of what follows.
"""

from collections.abc import Mapping
from typing import Any

from consumers.intents import AskIntent
from sessionstore.record import Record


def was_asked_again(record: Record, wait_id: str) -> bool:
    """Whether the question has its successor, still open or answered since."""
    questions = (*record["execution"]["awaited"].values(), *record["control"]["approvals"].values())
    return any(question.get("again_of") == wait_id for question in questions)


def asked_again(wait: Mapping[str, Any], facts: Mapping[str, Any]) -> AskIntent:
    """The same question, bound to the facts as they are now."""
    binds = {name: facts.get(name, value) for name, value in wait["binds"].items()}
    changed = ", ".join(f"{name} is now {facts[name]!r}" for name in binds if name in facts)
    return AskIntent(
        question=f"{wait['question']}\n(Asked again: {changed}.)",
        then=wait["then"],
        binds=tuple(binds),
        options=tuple(wait["options"]),
        expires_s=None if wait["due"] is None else max(wait["due"] - wait["asked_at"], 60.0),
        priority=bool(wait["priority"]),
        route=wait["route"],
        data=wait["data"],
        binds_to=binds,
        again_of=wait["wait_id"],
    )
