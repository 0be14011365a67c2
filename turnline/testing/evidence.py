"""Evidence: all that is known at the end of a simulated life, gathered in one place for the checks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from sessionstore.wait import AnswerResult
from turnline.testing.outside import Departure, Outside
from turnline.testing.witness import Note, Witness


@dataclass(slots=True)
class Ledger:
    """What those outside were told: clients about their events, people about their answers, operators about effects."""

    acknowledged: dict[tuple[str, str, str], str] = field(default_factory=dict)
    accepted: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    answers: list[tuple[str, str, AnswerResult]] = field(default_factory=list)
    marked: set[str] = field(default_factory=set)
    resent: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Turn:
    """One closed turn, from its transcript."""

    session: str  # with its tenant in front
    turn_id: str
    entries: tuple[tuple[str, Mapping[str, Any]], ...]

    @property
    def closed(self) -> Mapping[str, Any]:
        """Its own line."""
        return self.entries[-1][1]

    @property
    def failed(self) -> bool:
        """Whether it ended by being given up."""
        return any(type_ == "turn.failed" for type_, _ in self.entries)

    def bodies(self, type_: str) -> list[Mapping[str, Any]]:
        """Its events of one type."""
        return [body for found, body in self.entries if found == type_]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the checks look at."""

    inbox: Sequence[Mapping[str, Any]]
    outbox: Mapping[str, Mapping[str, Any]]
    waits: Mapping[str, Mapping[str, Any]]
    states: Mapping[str, Mapping[str, Any]]
    versions: Mapping[str, int]
    slots: Sequence[Mapping[str, Any]]
    turns: Sequence[Turn]
    notes: Sequence[Note]
    departures: Sequence[Departure]
    deeds: Mapping[str, Sequence[float]]
    ledger: Ledger

    def of(self, what: str) -> list[Note]:
        """The witness's notes of one kind."""
        return [note for note in self.notes if note.what == what]


def gather(witness: Witness, outside: Outside, ledger: Ledger) -> Evidence:
    """Read it all."""
    inbox = witness.rows("SELECT pos, tenant, session, source, event_id, kind, rank, status, received_at FROM inbox")
    outbox = witness.rows(
        "SELECT effect_id, pos, tenant, session, lane, adapter, then_name, state, on_unknown, possible_duplicate,"
        " attempts, binds, approval FROM outbox"
    )
    waits = witness.rows("SELECT wait_id, tenant, session, kind, due, status, answered_by, binds FROM wait")
    heads = witness.rows("SELECT tenant, session, version FROM session")
    records = witness.rows("SELECT tenant, session, body FROM record")
    return Evidence(
        inbox=inbox,
        outbox={row["effect_id"]: row for row in outbox},
        waits={row["wait_id"]: row for row in waits},
        states={key_of(row): orjson.loads(row["body"])["state"] for row in records},
        versions={key_of(row): row["version"] for row in heads},
        slots=witness.rows("SELECT job, nominal, outcome FROM cron_fire ORDER BY job, nominal"),
        turns=_turns(witness),
        notes=witness.notes(),
        departures=outside.departures,
        deeds=outside.deeds,
        ledger=ledger,
    )


def key_of(row: Mapping[str, Any]) -> str:
    """A row's session, with its tenant in front."""
    return f"{row['tenant']}/{row['session']}"


def _turns(witness: Witness) -> list[Turn]:
    rows = witness.rows("SELECT tenant, session, type, turn_id, body FROM transcript ORDER BY tenant, session, seq")
    turns: list[Turn] = []
    entries: list[tuple[str, Mapping[str, Any]]] = []
    for row in rows:
        entries.append((row["type"], orjson.loads(row["body"])))
        if row["type"] == "turn.closed":
            turns.append(Turn(key_of(row), row["turn_id"], tuple(entries)))
            entries = []
    return turns
