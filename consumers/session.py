"""The session as observers and handlers see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar as DefaultedTypeVar

S = DefaultedTypeVar("S", default=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Session(Generic[S]):
    """The session as observers and handlers see it: identity, and the state at the last commit."""

    key: str
    agent: str
    tenant: str
    epoch: int
    status: str
    state: S
    facts: Mapping[str, Any] = field(default_factory=dict)
