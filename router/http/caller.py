"""A caller of the API: who it is, what it names in the path and the query, and which sessions it may see."""

from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote

from aiohttp import web
from pydantic import BaseModel, ValidationError

from router.http.auth import Principal
from router.http.body import BODY_TIMEOUT_S, read_body
from router.http.services import SERVICES, Services
from router.jsonbody import parse_json
from router.namespace import Denied, judge
from sessionstore.errors import BadInput, BadKey, NotAllowed
from sessionstore.inbox import SessionRef
from sessionstore.key import parse

M = TypeVar("M", bound=BaseModel)

LIMIT_MAX = 1_000
FAULTS_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller and what its request is answered from."""

    services: Services
    principal: Principal

    @property
    def tenant(self) -> str:
        """The caller's tenant; nothing of another is ever read."""
        return self.principal.tenant

    def may_see(self, session: str) -> bool:
        """Whether a session lies in the caller's namespace. What belongs to no session is an administrator's."""
        if self.principal.namespace.everything:
            return True
        try:
            return not isinstance(judge(parse(session, self.tenant), self.principal.namespace), Denied)
        except BadKey:
            return False

    def session(self, text: str) -> SessionRef:
        """A session that the caller names. Raises BadKey and NotAllowed; neither tells whether it exists."""
        key = parse(text, self.tenant)
        match judge(key, self.principal.namespace):
            case Denied(reason=reason, hint=hint):
                raise NotAllowed(reason, hint=hint)
            case _:
                return SessionRef(self.tenant, key.text)


def caller(request: web.Request, scope: str) -> Caller:
    """Whoever sent this request. Raises NotAuthenticated or NotAllowed."""
    services = request.app[SERVICES]
    return Caller(services, services.tokens.authenticate(request, scope))


def path_part(request: web.Request, index: int = 2) -> str:
    """One segment of the path as it was sent, decoded once; 2 is KEY in /v1/sessions/KEY.

    The framework's own decoding is of the whole path, in which an escaped slash of a key and one between segments, and
    `%252F` and `%2F`, are no longer told apart.
    """
    segments = request.rel_url.raw_path.strip("/").split("/")
    try:
        return unquote(segments[index], errors="strict")
    except UnicodeDecodeError as error:
        raise BadInput(f"{segments[index]!r} is not UTF-8", hint="percent-encode the text as UTF-8") from error


def number(request: web.Request, name: str, default: int, *, least: int = 0, most: int = 2**53) -> int:
    """A whole number from the query. Raises BadInput; above `most` counts as `most`."""
    text = request.query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal()) or int(text[:20]) < least:
        raise BadInput(f"`{name}` is not a number from {least} up", hint=f"leave it out for {default}")
    return min(int(text[:20]), most)


async def body_of(request: web.Request, model: type[M]) -> M:
    """The JSON body, checked. Raises BadInput that names what is wrong, never its value, and what `read_body` does.

    A name may stand only once in an object: of two answers nobody knows which one was meant.
    """
    raw = await read_body(request, bytes_max=request.app[SERVICES].body_bytes_max, timeout_s=BODY_TIMEOUT_S)
    value = parse_json(raw or b"{}", unique_names=True)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False)[:FAULTS_SHOWN_MAX]
        told = "; ".join(f"{'.'.join(str(part) for part in f['loc']) or 'body'}: {f['msg']}" for f in faults)
        raise BadInput(f"the body cannot be used: {told}", hint="see /openapi.json for its form") from error
