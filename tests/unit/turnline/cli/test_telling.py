"""Telling: every type has words, and no body can break the line."""

from typing import Any

import pytest

from sessionstore.reducer import TYPES
from turnline.cli.telling import WORDS, bound, told

OTHERS_WORDS = {"event.late", "route.changed", "recovery.decided"}  # shown as stored

SAID: list[tuple[str, dict[str, Any], str]] = [
    ("message.in", {"sender": "ann", "source": "s", "type": "message", "data": {"text": "hi"}}, "ann: hi"),
    ("message.in", {"sender": "", "source": "ci", "type": "push", "data": {"ref": 1}}, 'ci [push]: {"ref":1}'),
    ("message.out", {"lane": "desk", "text": "hello"}, "→ desk: hello"),
    ("message.out", {"lane": "", "text": "hello"}, "→ transcript only: hello"),
    ("step.recorded", {"key": "plan#1", "result": [1], "reused": True}, "plan#1 = [1] (reused)"),
    (
        "state.patched",
        {"ops": [{"op": "remove", "path": "/a"}, {"op": "add", "path": "/b/-", "value": 2}]},
        "a removed; b/- = 2",
    ),
    ("record.noted", {"phase": "review", "goal": {"aim": "ship"}}, "goal: ship; phase: review"),
    ("fact.observed", {"name": "commit", "value": "b", "was": "a"}, "commit = b, was a"),
    ("wait.opened", {"question": "Go?", "kind": "approval", "binds": {"c": 1}, "then": "go"}, "Go? [c=1] then go"),
    ("wait.closed", {"status": "approved", "by": "bob", "note": "ok", "answer": "approved"}, "approved by bob: ok"),
    ("wait.closed", {"status": "answered", "by": "bob", "note": "", "answer": 4}, "answered 4 by bob"),
    (
        "outcome.received",
        {"summary": "deploy()", "outcome": "failed", "error": "no", "result": None},
        "deploy() failed: no",
    ),
    ("turn.failed", {"error": "boom", "attempts": 2, "dead": False}, "boom (attempt 2, to be tried again)"),
    ("operator.acted", {"action": "pause", "by": "ann", "reason": "look"}, "pause by ann: look"),
    ("operator.closed", {"action": "pause", "by": "ann", "reason": ""}, "pause by ann"),
    ("wait.cancelled", {"wait_id": "w1", "by": "ann"}, "w1 is not awaited any more, by ann"),
    ("effect.withdrawn", {"effect_id": "e1", "was": "pending"}, "e1, which was pending, is not wanted any more"),
    ("run.closed", {"reason": "cancel"}, "the run has ended: cancel"),
    ("session.reset", {"epoch": 2, "by": "ann"}, "epoch 2 begins, by ann"),
    ("session.restored", {"to_seq": 7, "record": {}}, "as it was at 7"),
    ("session.restored", {"to_seq": 7, "of": "agent:a/dm:1", "record": {}}, "as agent:a/dm:1 was at 7"),
    ("session.person", {"person": "ann"}, "ann answers in the agent's place"),
    ("session.person", {"person": ""}, "the agent answers again"),
    ("session.status", {"status": "completed", "reason": "done"}, "completed: done"),
    (
        "artifact.stored",
        {"name": "log", "size": 12345, "media_type": "text/plain", "digest": "0123456789abcdef"},
        "log: 12,345 bytes of text/plain, 0123456789ab",
    ),
    ("artifact.dropped", {"name": "log"}, "log let go"),
    ("workspace.changed", {"set": {"a.py": {}}, "removed": ["b.py"]}, "a.py; b.py removed"),
]


def test_every_type_of_this_version_has_words_or_is_known_to_have_none() -> None:
    assert set(WORDS) | OTHERS_WORDS == set(TYPES)


@pytest.mark.parametrize(("type_", "body", "said"), SAID)
def test_an_event_is_told_in_words(type_: str, body: dict[str, Any], said: str) -> None:
    assert told(type_, body) == said


@pytest.mark.parametrize("type_", sorted(TYPES | {"memory.woven"}))
@pytest.mark.parametrize("body", [{}, [], None, "text", {"ops": 4, "items": [1], "binds": None}])
def test_a_body_of_another_shape_is_shown_as_it_is_stored(type_: str, body: Any) -> None:
    assert isinstance(told(type_, body), str)


def test_what_something_is_bound_to_reads_as_pairs() -> None:
    assert bound({"commit": "abc", "row": 4}) == "commit=abc, row=4"
