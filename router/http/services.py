"""What request handlers work with, found under one key of the application."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import web

from consumers.bus import Bus
from consumers.operator import Operator
from router.hooks import Hook
from router.http.auth import Tokens
from router.rules import Routing
from router.trail import Trail
from router.webchat import WebChat
from sessionstore.clock import Clock
from sessionstore.store import Store

BODY_BYTES_MAX = 1_048_576


@dataclass(frozen=True, slots=True)
class Services:
    """What request handlers work with. `ready` tells whether the loops make progress, with a reason when not."""

    store: Store
    bus: Bus
    routing: Routing
    tokens: Tokens
    trail: Trail
    clock: Clock
    webchat: WebChat
    operator: Operator
    hooks: Mapping[str, Hook]
    endpoints: frozenset[str]
    ready: Callable[[], str]
    cookie_secret: bytes = field(repr=False)
    tenant: str = "default"
    hosts: frozenset[str] = frozenset()  # names that the chat may be asked for by; empty: any
    body_bytes_max: int = BODY_BYTES_MAX


SERVICES: web.AppKey[Services] = web.AppKey("services", Services)
