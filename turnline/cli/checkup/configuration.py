"""The settings as resolved, with secrets hidden, and what is doubtful about the routing."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from router.advice import advise
from router.chatitem import CHANNEL
from router.rules import Routing
from sessionstore.errors import TurnlineError
from turnline.cli.checkup.finding import Finding, attention, note, ok
from turnline.cli.routefile import names_in
from turnline.settings import PREFIX, Settings, unknown_variables
from turnline.wiring import load_app

CHANNELS = (CHANNEL,)  # channels that need no settings

_PASSWORD = re.compile(r"(?<=://)([^/@\s:]*):[^/@\s]*@")


def shown(settings: Settings) -> dict[str, Any]:
    """Each setting that is not the default; secrets are stars, passwords in addresses too."""
    document: dict[str, Any] = settings.model_dump(mode="json", exclude_defaults=True)
    document.setdefault("data", str(settings.data))
    return {name: _hidden(value) for name, value in document.items()}


def variables() -> Iterator[Finding]:
    """What looks like a setting in the environment and is none."""
    for name in unknown_variables():
        meant = get_close_matches(name.removeprefix(PREFIX).lower(), Settings.model_fields, n=1)
        yield note("settings", f"{name} is no setting", f"is {PREFIX}{meant[0].upper()} meant?" if meant else "")


def agents_of(settings: Settings) -> tuple[frozenset[str] | None, list[Finding]]:
    """The app's agents, None when no app is set or it does not load."""
    if not settings.app:
        return None, []
    try:
        agents = frozenset(load_app(settings.app).by_name())
    except TurnlineError as error:
        return None, [attention("app", str(error), error.hint)]
    except Exception as error:  # whatever the user's own module raises on import
        says = f"{settings.app} does not load: {type(error).__name__}: {error}"
        return None, [attention("app", says, "run `python -c 'import ...'` on it")]
    return agents, [ok("app", f"{settings.app} with {', '.join(sorted(agents)) or 'no agent'}")]


def routing(settings: Settings, agents: frozenset[str] | None) -> Iterator[Finding]:
    """What is wrong or doubtful about the rules."""
    table = settings.routing
    try:
        rules: Routing = table.to_routing(sorted(agents) if agents is not None else names_in(table))
    except TurnlineError as error:
        yield attention("routing", str(error), error.hint)
        return
    doubts = advise(rules, dict.fromkeys(CHANNELS, ("default",)))
    for doubt in doubts:
        yield note("routing", doubt)
    if not doubts:
        yield ok("routing", f"{len(rules.bindings)} bindings; nothing is doubtful")


def _hidden(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _hidden(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return _PASSWORD.sub(r"\1:***@", value) if isinstance(value, str) else value
