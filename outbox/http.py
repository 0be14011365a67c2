"""Effects that are one HTTP request, to any public server, with an idempotency key and a declared look-up.

Such an effect has

    target {"url": "https://...",
            "lookup": {"url": "https://.../jobs/{key}", "headers": {...}, "field": "status",
                       "succeeded": ["succeeded"], "running": ["running"], "failed": ["failed"]}}
    body   {"method": "POST", "headers": {...}, "json": ...}

where all but the first `url` may be missing. `url` and `lookup` may stand in the body as well, but only a target makes
the class known before the call. `{key}` and `{external_id}` in the look-up's URL stand for the effect's idempotency key
and for the id that the call reported. What a server promises, and the headers with its credentials, come from the
settings, per origin: so no secret is ever in a transcript or an outbox row. Without settings an effect with a look-up
is of the class LOOKUP, and any other of NONE.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from urllib.parse import quote

import orjson
from multidict import CIMultiDict
from yarl import URL

from outbox.adapter import (
    Absent,
    CannotTell,
    FailedThere,
    Idempotency,
    Limits,
    LookupResult,
    NotSent,
    Running,
    Sending,
    SendResult,
    Succeeded,
    Unknown,
)
from outbox.classify import classify_status
from outbox.client import BODY_BYTES_MAX, Answer, AnswerEnd, HttpClient
from outbox.egress import EgressPolicy, EgressRefused
from outbox.headers import header_problem
from sessionstore.errors import BadSettings

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")
DEFAULT_LIMITS = Limits(length_max=BODY_BYTES_MAX, unit="byte")
_SHOWN_HEADERS: Final = ("Content-Type", "ETag", "Location")


@dataclass(frozen=True, slots=True)
class HttpOrigin:
    """What the settings say of one server. `origin` is scheme, host and port; `headers` go to it alone."""

    origin: str
    limits: Limits = DEFAULT_LIMITS
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request that may be sent."""

    method: str
    url: URL
    headers: Mapping[str, str]
    content: bytes | None


@dataclass(frozen=True, slots=True)
class HttpLookup:
    """Where and how to ask. The words are values of `field` (a dotted path) in the JSON answer."""

    url: URL
    headers: Mapping[str, str]
    field: str
    succeeded: tuple[str, ...]
    running: tuple[str, ...]
    failed: tuple[str, ...]


class HttpEffect:
    """The adapter `http`. `now` gives unix seconds. Raises BadSettings on an origin that cannot be used."""

    name = "http"
    limits = DEFAULT_LIMITS

    def __init__(self, origins: Sequence[HttpOrigin], client: HttpClient, now: Callable[[], float]) -> None:
        self._origins = {_origin(known): known for known in origins}
        self._client = client
        self._now = now

    def limits_for(self, target: Mapping[str, Any]) -> Limits:
        """The promises of the server that the target's URL leads to."""
        known = self._known(_url(target.get("url")))
        if known is not None:
            return known.limits
        return replace(self.limits, idempotency=Idempotency.LOOKUP) if "lookup" in target else self.limits

    async def send(self, sending: Sending) -> SendResult:
        """Send it once, with `Idempotency-Key`. The result holds status, some headers, and `json` or `text`."""
        wanted = _wanted(sending)
        limits = self.limits_for(wanted)
        call = read_call(wanted, self._client.policy, limits.length_max)
        if isinstance(call, NotSent):
            return call
        headers = self._with_credentials(call.url, call.headers)
        headers["Idempotency-Key"] = sending.key
        answer = await self._client.exchange(call.method, call.url, headers, call.content, limits.timeout_s)
        if isinstance(answer, NotSent | Unknown):
            return answer
        if answer.end is AnswerEnd.CUT and 200 <= answer.status < 300:
            return Unknown(f"HTTP {answer.status}, but the answer broke off")
        result = _result(answer)
        return classify_status(
            answer.status,
            answer.headers,
            self._now(),
            receipt=_id_in(result.get("json")) or result["headers"].get("location", ""),
            result=result,
            repeated_key=sending.attempt > 1 and limits.idempotency is Idempotency.NATIVE,
        )

    async def lookup(self, sending: Sending) -> LookupResult:
        """GET the declared URL: 404 is Absent, 200 is read by the declared words, all else tells nothing."""
        lookup = read_lookup(sending, self._client.policy)
        if isinstance(lookup, CannotTell):
            return lookup
        headers = self._with_credentials(lookup.url, lookup.headers)
        timeout_s = self.limits_for(_wanted(sending)).timeout_s
        answer = await self._client.exchange("GET", lookup.url, headers, None, timeout_s)
        if isinstance(answer, NotSent | Unknown):
            return CannotTell(answer.reason)
        if answer.status == 404:
            return Absent()
        if answer.status != 200 or answer.end is not AnswerEnd.COMPLETE:
            return CannotTell(f"the look-up answered HTTP {answer.status}, {answer.end}")
        return read_state(lookup, answer.body)

    async def close(self) -> None:
        await self._client.close()

    def _known(self, url: URL | None) -> HttpOrigin | None:
        return self._origins.get(str(url.origin())) if url is not None and url.scheme and url.raw_host else None

    def _with_credentials(self, url: URL, headers: Mapping[str, str]) -> CIMultiDict[str]:
        merged = CIMultiDict(headers)
        known = self._known(url)
        if known is not None:
            merged.update(known.headers)
        return merged


def read_call(wanted: Mapping[str, Any], policy: EgressPolicy, length_max: int) -> HttpCall | NotSent:
    """Check an effect's wish and make the request of it; what cannot be sent now never can."""
    method, headers = wanted.get("method", "POST"), wanted.get("headers", {})
    url = _allowed(wanted.get("url"), policy)
    if isinstance(url, str):
        return NotSent(url, permanent=True)
    if method not in METHODS:
        return NotSent(f"the method is not one of {', '.join(METHODS)}", permanent=True)
    if problem := header_problem(headers):
        return NotSent(problem, permanent=True)
    if "json" not in wanted:
        return HttpCall(method, url, headers, None)
    try:
        content = orjson.dumps(wanted["json"])
    except TypeError as error:
        return NotSent(f"the body is not JSON: {error}", permanent=True)
    if len(content) > length_max:
        return NotSent(f"the body has {len(content)} bytes; {length_max} may be sent", permanent=True)
    typed = CIMultiDict({"Content-Type": "application/json"})
    typed.update(headers)
    return HttpCall(method, url, typed, content)


def read_lookup(sending: Sending, policy: EgressPolicy) -> HttpLookup | CannotTell:
    """Check the declared look-up and fill in its URL."""
    declared = _wanted(sending).get("lookup")
    if not isinstance(declared, Mapping) or not isinstance(declared.get("url"), str):
        return CannotTell("no look-up is declared")
    text = declared["url"].replace("{key}", quote(sending.key, safe=""))
    url = _allowed(text.replace("{external_id}", quote(sending.external_id, safe="")), policy)
    headers = declared.get("headers", {})
    problem = url if isinstance(url, str) else header_problem(headers)
    if isinstance(url, str) or problem:
        return CannotTell(f"the look-up cannot be sent: {problem}")
    words = {name: _words(declared, name) for name in ("succeeded", "running", "failed")}
    return HttpLookup(url=url, headers=headers, field=str(declared.get("field", "status")), **words)


def read_state(lookup: HttpLookup, body: bytes) -> LookupResult:
    """Judge a look-up's JSON by the declared words."""
    try:
        found: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return CannotTell("the look-up's answer is not JSON")
    state: Any = found
    for name in lookup.field.split("."):
        state = state.get(name) if isinstance(state, dict) else None
    if state in lookup.succeeded:
        return Succeeded(found, _id_in(found))
    if state in lookup.running:
        return Running(_id_in(found))
    if state in lookup.failed:
        return FailedThere(f"{lookup.field} is {state!r}")
    return CannotTell(f"{lookup.field} is none of the declared words")


def _wanted(sending: Sending) -> dict[str, Any]:
    # The target wins: it is what the limits were chosen by.
    return {**sending.body, **sending.target}


def _words(declared: Mapping[str, Any], name: str) -> tuple[str, ...]:
    words = declared.get(name, name)
    if isinstance(words, str):
        return (words,)
    return tuple(words) if isinstance(words, Sequence) else ()


def _allowed(text: Any, policy: EgressPolicy) -> URL | str:
    """The URL, or why it cannot be called."""
    url = _url(text)
    if url is None:
        return "the URL cannot be read"
    try:
        policy.check_url(url)
    except EgressRefused as refused:
        return str(refused)
    return url


def _url(text: Any) -> URL | None:
    try:
        return URL(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _result(answer: Answer) -> dict[str, Any]:
    shown = {name.lower(): answer.headers[name] for name in _SHOWN_HEADERS if name in answer.headers}
    result: dict[str, Any] = {"status": answer.status, "headers": shown}
    if answer.end is not AnswerEnd.COMPLETE:
        result["truncated"] = True
    elif "json" in shown.get("content-type", ""):
        try:
            return {**result, "json": orjson.loads(answer.body)}
        except orjson.JSONDecodeError:
            pass
    return {**result, "text": answer.body.decode("utf-8", "replace")}


def _id_in(found: Any) -> str:
    value = found.get("id") if isinstance(found, dict) else None
    return str(value) if isinstance(value, str) or type(value) is int else ""


def _origin(known: HttpOrigin) -> str:
    try:
        url = URL(known.origin)
        origin = str(url.origin())
        if url.scheme not in ("http", "https") or str(url).rstrip("/") != origin:
            raise ValueError
    except ValueError:
        raise BadSettings(
            f"{known.origin!r} is not an origin.",
            hint="Give scheme, host and port only, for example https://api.example.com",
        ) from None
    if problem := header_problem(known.headers):
        raise BadSettings(f"The headers for {origin}: {problem}.", hint="Set only headers that the server asks for.")
    return origin
