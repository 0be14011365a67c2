"""Bearer tokens: hashed in memory, compared in constant time, scoped to tenant, agents and what may be done."""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from router.namespace import Namespace
from sessionstore.errors import NotAllowed, Refused

SCOPES = ("read", "write", "approve")


class NotAuthenticated(Refused):
    """No token, or one that nobody knows."""

    code = "not_authenticated"
    status = 401


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling: a name for the audit trail, what it may do, and which keys it may name."""

    name: str
    scopes: frozenset[str]
    namespace: Namespace
    admin: bool = False

    @property
    def tenant(self) -> str:
        """The tenant it belongs to."""
        return self.namespace.tenant


@dataclass(frozen=True, slots=True)
class KnownToken:
    """A token's hash and whom it stands for."""

    sha256: bytes
    principal: Principal


def hashed(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def admin_token(token: str, tenant: str) -> KnownToken:
    """The administrator's token: everything in its tenant."""
    namespace = Namespace(tenant=tenant, principal="admin", everything=True)
    return KnownToken(hashed(token), Principal("admin", frozenset(SCOPES), namespace, admin=True))


class Tokens:
    """All tokens that open this server."""

    def __init__(self, known: Sequence[KnownToken]) -> None:
        self._known = tuple(known)

    def authenticate(self, request: web.Request, scope: str) -> Principal:
        """Whoever holds the bearer token of this request. Raises NotAuthenticated or NotAllowed."""
        header = request.headers.get("Authorization", "")
        kind, _, token = header.partition(" ")
        if kind.lower() != "bearer" or not token:
            raise NotAuthenticated(
                "this needs a bearer token", hint="send `Authorization: Bearer TOKEN`; `turnline dev` prints one"
            )
        presented = hashed(token.strip())
        found = None
        for known in self._known:
            if hmac.compare_digest(known.sha256, presented):
                found = known.principal
        if found is None:
            raise NotAuthenticated("this token is not known here", hint="check TURNLINE_TOKEN of the server")
        if scope not in found.scopes:
            raise NotAllowed(f"this token may not {scope}", hint=f"give it the scope {scope!r} in the settings")
        return found
