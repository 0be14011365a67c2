"""From settings to doors: hooks, and the tokens that open the API. Every mistake is told before anything listens."""

from collections.abc import Mapping, Sequence

from router.hooks import Hook
from router.http.auth import KnownToken, Principal, admin_token, hashed
from router.namespace import Namespace
from sessionstore.errors import BadKey, BadSettings
from sessionstore.key import parse
from turnline.settings import HookSettings, Settings, TokenSettings

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def hooks_of(settings: Settings, agents: Sequence[str]) -> Mapping[str, Hook]:
    """The webhook doors by name. Raises BadSettings for one that could never work."""
    return {name: _hook(name, hook, settings, agents) for name, hook in settings.hooks.items()}


def hosts_of(settings: Settings) -> frozenset[str]:
    """The names that the chat goes by. On loopback, unless set, only those of this machine: see `known_host`."""
    named = frozenset(name.strip().lower() for name in settings.hosts.split(",") if name.strip())
    if named:
        return named
    return LOOPBACK if settings.host.lower() in LOOPBACK else frozenset()


def tokens_of(settings: Settings, admin: str, app_agents: Sequence[str]) -> list[KnownToken]:
    """The administrator's token and the scoped ones. Raises BadSettings for one that could never be used as written."""
    scoped = [_token(name, token, app_agents) for name, token in settings.tokens.items()]
    return [admin_token(admin, settings.tenant), *scoped]


def _hook(name: str, hook: HookSettings, settings: Settings, agents: Sequence[str]) -> Hook:
    if hook.agent and hook.agent not in agents:
        raise BadSettings(
            f"hooks.{name}: the app has no agent {hook.agent!r}", hint=f"it has: {', '.join(sorted(agents))}"
        )
    if hook.reply_to and hook.reply_to not in settings.endpoints:
        raise BadSettings(
            f"hooks.{name}: there is no endpoint {hook.reply_to!r}", hint=f"write [endpoints.{hook.reply_to}]"
        )
    return Hook(
        name=name,
        kind=hook.kind,
        secrets=hook.all_secrets(),
        agent=hook.agent,
        session_key=hook.session_key,
        reply_to=hook.reply_to,
        tolerance_s=hook.tolerance_s,
        body_bytes_max=hook.body_bytes_max,
    )


def _token(name: str, token: TokenSettings, app_agents: Sequence[str]) -> KnownToken:
    agents = None if token.agents is None else frozenset(token.agents)
    try:
        prefixes = tuple(parse(prefix, token.tenant) for prefix in token.prefixes)
    except BadKey as error:
        raise BadSettings(f"tokens.{name}.prefixes: {error}", hint=error.hint) from error
    named = [*(token.agents or ()), *(prefix.agent for prefix in prefixes)]
    if unknown := [agent for agent in named if agent not in app_agents]:
        raise BadSettings(
            f"tokens.{name}: the app has no agent {unknown[0]!r}", hint=f"it has: {', '.join(sorted(app_agents))}"
        )
    namespace = Namespace(token.tenant, name, agents, prefixes)
    return KnownToken(hashed(token.token.get_secret_value()), Principal(name, frozenset(token.scopes), namespace))
