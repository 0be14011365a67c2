"""Wiring: from settings to a store, adapters and an app; the only place that picks drivers."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

from consumers.agent import Agent, App
from outbox.adapter import EffectAdapter, Limits
from outbox.client import HttpClient
from outbox.egress import parse_allow
from outbox.http import HttpEffect, HttpOrigin
from outbox.webhook import SignedWebhook, WebhookEndpoint
from sessionstore.artifact import ArtifactStore
from sessionstore.artifacts.folder import FolderArtifacts
from sessionstore.clock import SystemClock
from sessionstore.errors import BadSettings
from sessionstore.sqlite.store import SqliteStore
from turnline.settings import EndpointSettings, OriginSettings, Settings

OBJECT_SCHEMES = ("s3", "gs", "az")


def open_store(settings: Settings) -> SqliteStore:
    """The store of these settings, migrated. Needs a running event loop."""
    if settings.bus != "store" or settings.leases != "local":
        raise BadSettings(
            "this version runs the embedded engine only", hint="leave TURNLINE_BUS=store and TURNLINE_LEASES=local"
        )
    return SqliteStore(settings.store_path, SystemClock(), group_max=settings.group_max)


def open_artifacts(settings: Settings) -> ArtifactStore:
    """The artifact store of these settings. Raises BadSettings where the library for object storage is missing."""
    where = settings.artifacts
    if not where:
        return FolderArtifacts(settings.data / "artifacts")
    scheme, _, rest = where.partition("://")
    if scheme == "file" and rest.startswith("/"):
        return FolderArtifacts(Path(unquote(rest)))
    if scheme not in OBJECT_SCHEMES or not rest.strip("/"):
        raise BadSettings(
            f"artifacts cannot be kept in {where!r}", hint="use file:///PATH, s3://BUCKET/PREFIX, gs://... or az://..."
        )
    try:
        driver = importlib.import_module("sessionstore.artifacts.object")
    except ModuleNotFoundError as error:
        raise BadSettings(
            f"{scheme}:// needs the library {error.name}, which is not installed", hint="pip install 'turnline[s3]'"
        ) from error
    store: ArtifactStore = driver.ObjectArtifacts(where)
    return store


def outgoing(settings: Settings, now: Callable[[], float]) -> list[EffectAdapter]:
    """The built-in adapters that reach outside: signed webhooks and HTTP effects, behind one guarded client."""
    policy = parse_allow(settings.egress_allow)
    client = HttpClient(policy)
    endpoints = {name: _endpoint(e) for name, e in settings.endpoints.items()}
    origins = [_origin(o) for o in settings.http.values()]
    return [SignedWebhook(endpoints, client, now), HttpEffect(origins, client, now)]


def load_app(target: str) -> App:
    """The user's app: `module:app`, or a file with an App in it. Raises BadSettings with what to write."""
    if target.endswith(".py"):
        module = _from_file(Path(target))
        name = ""
    else:
        module_name, _, name = target.partition(":")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and not module_name.startswith(error.name):
                raise
            raise BadSettings(
                f"there is no module {module_name!r}", hint="give module:app, or the path of a .py file"
            ) from error
    if name:
        return _as_app(target, getattr(module, name, None))
    apps = [value for value in vars(module).values() if isinstance(value, App)]
    if len(apps) == 1:
        return apps[0]
    agents = [value for value in vars(module).values() if isinstance(value, Agent)]
    if not apps and agents:
        return App(agents=agents)
    raise BadSettings(
        f"{target} holds {len(apps)} apps", hint="have one `app = App(agents=[...])`, or give module:name"
    )


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadSettings(f"there is no file {path}", hint="give the path of a .py file, or module:app")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BadSettings(f"{path} cannot be loaded", hint="give the path of a .py file")
    module = importlib.util.module_from_spec(spec)
    # Registered under its own name, so that type hints and dataclasses in it resolve.
    sys.modules.setdefault(spec.name, module)
    sys.path.insert(0, str(path.parent.resolve()))
    spec.loader.exec_module(module)
    return module


def _as_app(target: str, value: object) -> App:
    if isinstance(value, App):
        return value
    if isinstance(value, Agent):
        return App(agents=[value])
    raise BadSettings(f"{target} is not an App", hint="write `app = App(agents=[...])` there")


def _endpoint(e: EndpointSettings) -> WebhookEndpoint:
    limits = Limits(
        idempotency=e.idempotency,
        window_s=e.window_s,
        timeout_s=e.timeout_s,
        attempts_max=e.attempts_max,
        length_max=1_048_576,
        unit="byte",
    )
    headers = {name: value.get_secret_value() for name, value in e.headers.items()}
    return WebhookEndpoint(e.url, e.all_secrets(), limits, headers)


def _origin(o: OriginSettings) -> HttpOrigin:
    limits = Limits(idempotency=o.idempotency, window_s=o.window_s, timeout_s=o.timeout_s, attempts_max=o.attempts_max)
    return HttpOrigin(o.origin, limits, {name: value.get_secret_value() for name, value in o.headers.items()})
