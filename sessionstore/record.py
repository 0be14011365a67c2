"""The record: the structured present of a session, in sections, as plain JSON.

    goal         aim, acceptance, constraints
    execution    phase, plan_next, awaited (by id), run (the open one, with what it has used)
    observation  facts with values, the last outcomes and errors
    control      approvals (by wait id) with what they are bound to
    artifacts    refs by name (digest, size, media_type), workspace by path (digest, size, mode)
    version      schema, agent and state versions, the turn that wrote it
    state        the agent's own typed part

It is a plain dict and not a tree of classes: it is folded, compared, hashed and stored as JSON on every turn, and a
class per section would only be taken apart again.
"""

import hashlib
from typing import Any, Final

import orjson

SCHEMA: Final = 1
OUTCOMES_MAX: Final = 10
ERRORS_MAX: Final = 5
APPROVALS_MAX: Final = 50

Record = dict[str, Any]


def new_record() -> Record:
    """The record of a session that has not run yet."""
    return {
        "goal": {},
        "execution": {"phase": "", "plan_next": "", "awaited": {}, "run": None},
        "observation": {"facts": {}, "outcomes": [], "errors": []},
        "control": {"approvals": {}},
        "artifacts": {},
        "version": {"schema": SCHEMA, "agent": "", "state": 0, "turn": ""},
        "status": "active",
        "reason": "",
        "state": {},
    }


def canonical(record: Record) -> bytes:
    """The one spelling of a record: JSON, keys sorted; what is stored and hashed."""
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS)


def checksum(canonical_record: bytes) -> str:
    """SHA-256 over the canonical spelling, hex."""
    return hashlib.sha256(canonical_record).hexdigest()
