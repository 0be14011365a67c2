"""Files of `turnline route`: arrived messages as JSON, with the routing that they are tried on.

A message, told in the words of the settings; only channel and peer are needed:

    {"channel": "slack", "account": "T1", "peer": {"kind": "channel", "id": "C2"}, "thread": "1.2", "sender": "U3",
     "parent": {"kind": ..., "id": ...}, "guild": ..., "team": ..., "roles": [...], "tenant": ...}

A fixture holds the message under `in`, and may bring its own `[routing]` table under `config`, together with the
`agents` of the app; without it the settings' own table holds. A table of cases is a list of fixtures with `expect`, or
an object with `cases` and one `config` for all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import orjson
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from router.inbound import DEFAULT_ACCOUNT, Inbound, Peer, PeerKind
from router.rules import Routing
from router.rules_settings import RoutingSettings
from sessionstore.errors import BadInput
from sessionstore.key import DEFAULT_TENANT

M = TypeVar("M", bound=BaseModel)

FILE_BYTES_MAX = 10_000_000
CASES_MAX = 10_000


def _text(value: Any) -> Any:
    """Providers write ids as numbers too."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id = Annotated[str, BeforeValidator(_text)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PeerFile(_Strict):
    """A place."""

    kind: PeerKind
    id: Annotated[Id, Field(min_length=1)]

    def to_peer(self) -> Peer:
        return Peer(self.kind, self.id)


class InboundFile(_Strict):
    """A message, as far as routing cares."""

    channel: str
    peer: PeerFile
    account: Id = DEFAULT_ACCOUNT
    thread: Id = ""
    parent: PeerFile | None = None
    sender: Id = ""
    guild: Id = ""
    team: Id = ""
    roles: frozenset[Id] = frozenset()
    tenant: Id = DEFAULT_TENANT

    def to_inbound(self) -> Inbound:
        """Raises BadInput when it is told in two ways at once."""
        return Inbound(
            channel=self.channel,
            peer=self.peer.to_peer(),
            account=self.account,
            thread=self.thread,
            parent=self.parent.to_peer() if self.parent else None,
            sender=self.sender,
            guild=self.guild,
            team=self.team,
            roles=self.roles,
            tenant=self.tenant,
        )


class ConfigFile(RoutingSettings):
    """A `[routing]` table, and the agents of the app that it is tried for."""

    agents: tuple[str, ...] | None = None


class ExpectFile(_Strict):
    """What a case should give; what is left out is not compared. `error` is the code of a refusal."""

    agent: str | None = None
    key: str | None = None
    tier: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One message, the routing that it is tried on, and what is expected."""

    name: str
    inbound: Inbound
    routing: Routing
    expect: Mapping[str, str] = field(default_factory=dict)


def read_message(path: Path, own: Routing) -> Case:
    """A message or a fixture. Raises BadInput with the field that is wrong."""
    document = _document(path)
    if not isinstance(document, dict):
        raise BadInput(f"{path} does not hold one message", hint="`turnline route test` takes a table of cases")
    fixture = document if "in" in document else {"in": document}
    return _case(path, "message", fixture, own)


def read_cases(path: Path, own: Routing) -> list[Case]:
    """A table of cases. Raises BadInput with the case and the field that is wrong."""
    document = _document(path)
    rows: Any = document
    if isinstance(document, dict):
        rows = document.get("cases")
        if "config" in document:
            own = _routing(path, "config", document["config"])
    if not isinstance(rows, list) or not rows:
        raise BadInput(f"{path} holds no cases", hint='write a list of {"in": {...}, "expect": {"key": ...}}')
    if len(rows) > CASES_MAX:
        raise BadInput(f"{path} holds {len(rows):,} cases, at most {CASES_MAX:,} are taken", hint="split the file")
    return [_case(path, f"case {index}", row, own) for index, row in enumerate(rows)]


def names_in(settings: RoutingSettings) -> tuple[str, ...]:
    """The agents that a table names, for when there is no app to ask."""
    named = [binding.agent for binding in settings.bindings]
    named += [settings.default_agent] if settings.default_agent else []
    return tuple(dict.fromkeys(named))


def _case(path: Path, name: str, row: Any, own: Routing) -> Case:
    if not isinstance(row, dict) or "in" not in row:
        raise BadInput(f"{path}: {name} has no message", hint='write it as {"in": {...}}')
    routing = _routing(path, f"{name}, config", row["config"]) if "config" in row else own
    inbound = _read(path, f"{name}, in", InboundFile, row["in"]).to_inbound()
    expect = _read(path, f"{name}, expect", ExpectFile, row.get("expect", {})).model_dump(exclude_none=True)
    return Case(str(row.get("name", name)), inbound, routing, expect)


def _routing(path: Path, name: str, table: Any) -> Routing:
    config = _read(path, name, ConfigFile, table)
    return config.to_routing(config.agents if config.agents is not None else names_in(config))


def _document(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}", hint="give the path of a JSON file") from error
    if len(raw) > FILE_BYTES_MAX:
        raise BadInput(f"{path} is larger than {FILE_BYTES_MAX:,} bytes", hint="split the file")
    try:
        return orjson.loads(raw)
    except ValueError as error:
        raise BadInput(f"{path} is not JSON: {error}", hint="see `turnline route explain --help`") from error


def _read(path: Path, name: str, model: type[M], document: Any) -> M:
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BadInput(f"{path}: {name}: {where or 'it'}: {first['msg']}", hint="fix that field") from error
