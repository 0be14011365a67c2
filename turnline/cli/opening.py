"""Opening the store for one command: settings from file, environment and options, then work, then close."""

import asyncio
import getpass
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import orjson
import typer

from sessionstore.errors import Damaged, NotFound, StoreError
from sessionstore.inbox import SessionRef
from sessionstore.key import parse
from sessionstore.sqlite.store import SqliteStore
from turnline.cli.place import Place
from turnline.settings import Settings, load_settings
from turnline.wiring import open_store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Opened:
    """An open store and the settings that it came from."""

    store: SqliteStore
    settings: Settings

    def ref(self, key: str, tenant: str | None) -> SessionRef:
        """A session by its key. Raises BadKey for what is none."""
        parsed = parse(key, tenant or self.settings.tenant)
        return SessionRef(parsed.tenant, parsed.text)


def settings_for(ctx: typer.Context, data: Path | None, store: str | None) -> Settings:
    """The settings; options win over the environment, and a folder given as an option over a store given elsewhere."""
    before = ctx.obj if isinstance(ctx.obj, Place) else Place()
    data, store = (data, store) if data or store else (before.data, before.store)
    if data is not None and store is None:
        store = ""
    return load_settings(data=data, store=store)


def with_store(settings: Settings, work: Callable[[Opened], Awaitable[T]], *, create: bool = False) -> T:
    """Run `work` with the store open. Raises NotFound when there is none and none is to be made."""
    path = settings.store_path
    if not create and not path.is_file():
        raise NotFound(
            f"there is no store at {path}",
            hint="go where it is, or give --data FOLDER or --store sqlite:///PATH; `turnline dev` makes one",
        )

    async def opened() -> T:
        store = _open(settings)
        try:
            return await work(Opened(store, settings))
        except orjson.JSONDecodeError as error:
            raise Damaged(
                f"something that is stored in {path} is not JSON: {error}",
                hint="`turnline verify KEY` names it; restore the file from a backup",
            ) from error
        finally:
            await store.close()

    return asyncio.run(opened())


def _open(settings: Settings) -> SqliteStore:
    try:
        return open_store(settings)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(
            f"{settings.store_path} cannot be opened: {error}",
            hint="`turnline doctor` looks at the folder and the file",
        ) from error


def actor(by: str | None) -> str:
    """Who is at the keyboard, as the audit trail names them."""
    return by or f"cli:{getpass.getuser()}"
