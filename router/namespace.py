"""Namespaces: which session keys a caller of the HTTP API may name."""

from dataclasses import dataclass

from router.keys import own_key
from sessionstore.errors import BadKey
from sessionstore.key import SessionKey, parse


@dataclass(frozen=True, slots=True)
class Namespace:
    """What a token may address.

    Every caller has an area of its own, `agent:A/api:PRINCIPAL/...`, under each agent that it may use. `agents` names
    those; None means any of its tenant. `prefixes` are further areas, each with everything below it. An
    administrator's token has `everything`, in its tenant.
    """

    tenant: str
    principal: str
    agents: frozenset[str] | None = None
    prefixes: tuple[SessionKey, ...] = ()
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Allowed:
    """The caller may use this key."""

    key: SessionKey


@dataclass(frozen=True, slots=True)
class Denied:
    """The caller may not, or the key is none: `not_allowed` (403) or `bad_key` (400)."""

    code: str
    reason: str
    hint: str


def judge(key: SessionKey, namespace: Namespace) -> Allowed | Denied:
    """Whether a caller may use a key. Nothing is looked up, so the answer does not tell whether the session exists."""
    if key.tenant != namespace.tenant:
        return Denied("not_allowed", "The key belongs to another tenant.", "Use a token of that tenant.")
    if namespace.everything or any(key.within(prefix) for prefix in namespace.prefixes):
        return Allowed(key)
    if namespace.agents is not None and key.agent not in namespace.agents:
        return Denied(
            "not_allowed",
            f"This token may not address the agent {key.agent!r}.",
            f"It may address: {', '.join(sorted(namespace.agents)) or 'none'}.",
        )
    if key.parts[0] == ("api", namespace.principal):
        return Allowed(key)
    own = SessionKey(key.tenant, key.agent, (("api", namespace.principal),))
    return Denied(
        "not_allowed",
        f"{key} lies outside this token's namespace.",
        f"Use a key below {own}, or have the prefix added to the token.",
    )


def chosen_key(namespace: Namespace, *, session_key: str = "", agent: str = "", source: str = "") -> Allowed | Denied:
    """The key of an event that a caller sends: the one it names, or its own session for that agent and source.

    `agent` is the one the caller named, or the routing's fallback. A named key must be complete: a short form would be
    read differently by two callers.
    """
    try:
        if not session_key:
            key = own_key(namespace.tenant, agent, namespace.principal, source)
        else:
            key = parse(session_key, namespace.tenant)
    except BadKey as bad:
        return Denied(bad.code, str(bad), bad.hint)
    if agent and key.agent != agent:
        return Denied(
            "bad_key",
            f"The key names the agent {key.agent!r}, the request {agent!r}.",
            "Leave one of them out, or make them agree.",
        )
    return judge(key, namespace)
