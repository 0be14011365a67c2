"""Settings: `turnline.toml`, then `TURNLINE_*` from the environment, which wins; checked before anything starts.

Nested ones are spelled `TURNLINE_HOOKS__GITHUB__SECRET`. A secret written as `env:NAME` or `file:PATH` is read from
there, so that no file of settings has to hold it.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from outbox.adapter import Idempotency
from router.rules_settings import RoutingSettings
from sessionstore.errors import BadSettings

CONFIG_FILE = "turnline.toml"
PREFIX = "TURNLINE_"
BODY_BYTES_MAX = 25 * 1024 * 1024


def _read_indirect(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if value.startswith("env:"):
        name = value.removeprefix("env:")
        if name not in os.environ:
            raise ValueError(f"the environment has no variable {name}")
        return os.environ[name]
    if value.startswith("file:"):
        path = Path(value.removeprefix("file:"))
        try:
            return path.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    return value


def _not_empty(value: SecretStr) -> SecretStr:
    if not value.get_secret_value():
        raise ValueError("a secret must not be empty")
    return value


def _sendable(value: SecretStr) -> SecretStr:
    token = value.get_secret_value()
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise ValueError("a token is printable ASCII without spaces, or no header could carry it")
    return value


Secret = Annotated[SecretStr, BeforeValidator(_read_indirect), AfterValidator(_not_empty)]
Token = Annotated[Secret, AfterValidator(_sendable)]


class Strict(BaseModel):
    """A table in which an unknown name is an error, not a silence."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class HookSettings(Strict):
    """`[hooks.NAME]`: a door at `/v1/hooks/NAME`.

    `session_key` is a list of JMESPath expressions over `headers`, `query` and `body`; the first that gives a list of
    [type, id] pairs wins. Several secrets allow rotation. `reply_to` names an endpoint that replies go to.
    """

    kind: Literal["github", "standard"]
    secret: Secret | None = None
    secrets: tuple[Secret, ...] = ()
    agent: str = ""
    session_key: tuple[str, ...] = ()
    reply_to: str = ""
    tolerance_s: float = 300.0
    body_bytes_max: int = Field(BODY_BYTES_MAX, gt=0)

    def all_secrets(self) -> tuple[str, ...]:
        """The secrets as text, newest first."""
        first = (self.secret,) if self.secret is not None else ()
        return tuple(s.get_secret_value() for s in (*first, *self.secrets))


class EndpointSettings(Strict):
    """`[endpoints.NAME]`: where outgoing webhooks go, signed as Standard Webhooks says."""

    url: str
    secret: Secret | None = None
    secrets: tuple[Secret, ...] = ()
    idempotency: Idempotency = Idempotency.NATIVE
    window_s: float = 86_400.0
    timeout_s: float = 15.0
    attempts_max: int = 8
    headers: Mapping[str, Secret] = Field(default_factory=dict)

    def all_secrets(self) -> tuple[str, ...]:
        """The secrets as text, newest first."""
        first = (self.secret,) if self.secret is not None else ()
        return tuple(s.get_secret_value() for s in (*first, *self.secrets))


class OriginSettings(Strict):
    """`[http.NAME]`: what a server that HTTP effects call promises, and the headers that go to it alone."""

    origin: str
    idempotency: Idempotency = Idempotency.NONE
    window_s: float = 0.0
    timeout_s: float = 30.0
    attempts_max: int = 8
    headers: Mapping[str, Secret] = Field(default_factory=dict)


class TokenSettings(Strict):
    """`[tokens.NAME]`: a scoped bearer token. `prefixes` are session keys below which it may name any."""

    token: Token
    tenant: str = "default"
    scopes: tuple[Literal["read", "write", "approve"], ...] = ("read", "write")
    agents: tuple[str, ...] | None = None
    prefixes: tuple[str, ...] = ()


class Settings(BaseSettings):
    """All settings. Outer names are fixed: others script against them."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, case_sensitive=False
    )

    app: str = ""
    store: str = ""
    bus: str = "store"
    leases: str = "local"
    artifacts: str = ""
    data: Path = Path(".turnline")
    host: str = "127.0.0.1"
    hosts: str = ""
    port: int = Field(8420, ge=0, le=65_535)
    token: Token | None = None
    egress_allow: str = ""
    tenant: str = "default"
    log: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    turns_max: int = Field(256, gt=0)
    sends_max: int = Field(256, gt=0)
    group_max: int = Field(512, gt=0)
    lease_ttl_s: float = Field(30.0, gt=1)
    drain_s: float = Field(20.0, ge=0)
    hooks: Mapping[str, HookSettings] = Field(default_factory=dict)
    endpoints: Mapping[str, EndpointSettings] = Field(default_factory=dict)
    http: Mapping[str, OriginSettings] = Field(default_factory=dict)
    tokens: Mapping[str, TokenSettings] = Field(default_factory=dict)
    routing: RoutingSettings = Field(default_factory=RoutingSettings)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What the environment says wins over what the file (given as init values) says."""
        return (env_settings, init_settings)

    @property
    def store_path(self) -> Path:
        """The SQLite file. Raises BadSettings for a store that this version cannot open."""
        if not self.store:
            return self.data / "turnline.sqlite"
        if not self.store.startswith("sqlite:///"):
            raise BadSettings(
                f"store {self.store.split(':', 1)[0]!r} is not supported by this version",
                hint="use sqlite:///PATH",
            )
        return Path(self.store.removeprefix("sqlite:///"))


def load_settings(path: Path | None = None, **overrides: Any) -> Settings:
    """Settings from the file (`turnline.toml` here, or `TURNLINE_CONFIG`) and the environment.

    `overrides` come from the command line and win over both; None means not given. Raises BadSettings with the name
    of each setting that is wrong.
    """
    given = path or (Path(os.environ["TURNLINE_CONFIG"]) if "TURNLINE_CONFIG" in os.environ else None)
    values = _read_file(given)
    try:
        settings = Settings(**values)
        chosen = {name: _checked(name, value) for name, value in overrides.items() if value is not None}
        return settings.model_copy(update=chosen) if chosen else settings
    except ValidationError as error:
        raise BadSettings(_told(error), hint=f"see {CONFIG_FILE} and the TURNLINE_* variables") from error


def unknown_variables() -> list[str]:
    """What begins with TURNLINE_ in the environment and is no setting: a misspelt one, or another program's."""
    known = {*Settings.model_fields, "config"}
    names = (name for name in os.environ if name.upper().startswith(PREFIX))
    return sorted(name for name in names if name[len(PREFIX) :].lower().split("__")[0] not in known)


def _checked(name: str, value: Any) -> Any:
    info = Settings.model_fields[name]
    field: TypeAdapter[Any] = TypeAdapter(cast(Any, Annotated[info.annotation, info]))
    try:
        return field.validate_python(value)
    except ValidationError as error:
        raise BadSettings(f"{name}: {_told(error)}", hint=f"`turnline --help`, or {CONFIG_FILE}") from error


def _read_file(given: Path | None) -> dict[str, Any]:
    path = given or Path(CONFIG_FILE)
    if given is None and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSettings(f"{path} cannot be read: {error.strerror}", hint="check TURNLINE_CONFIG") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path} is not valid TOML: {error}", hint="fix the line that it names") from error


def _told(error: ValidationError) -> str:
    """Each wrong setting by name; never its value, which may be a secret."""
    parts = [f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}".lstrip(": ") for e in error.errors()]
    return "; ".join(parts)
