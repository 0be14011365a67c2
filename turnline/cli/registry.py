"""Which command is in which module; a module is imported when its command is called, so that each starts quickly."""

import importlib
from dataclasses import dataclass
from typing import Any, Final

import typer
from typer.main import get_command

HELP_OPTIONS: Final = ("-h", "--help")


@dataclass(frozen=True, slots=True)
class Entry:
    """A command, or a group of them: `module` holds a function of this name, or `app`, a group."""

    name: str
    help: str

    @property
    def module(self) -> str:
        """Where it is."""
        return f"turnline.cli.{self.name}"

    def load(self) -> Any:
        """The command itself."""
        module = importlib.import_module(self.module)
        group = getattr(module, "app", None)
        if not isinstance(group, typer.Typer):
            group = typer.Typer(add_completion=False, context_settings={"help_option_names": list(HELP_OPTIONS)})
            group.command(self.name)(getattr(module, self.name))
        command = get_command(group)
        command.name = self.name
        return command


ENTRIES: Final = (
    Entry("dev", "Run everything in one process, with the web chat and the console."),
    Entry("send", "Put an event into a session, durably."),
    Entry("sessions", "What each session is about, and what happened in it."),
    Entry("approvals", "Questions that wait for a person."),
    Entry("effects", "What was sent, what is being sent, and what nobody knows."),
    Entry("dead", "Events that could not be handled."),
    Entry("cron", "Scheduled jobs."),
    Entry("route", "Which session a message goes to, and why."),
    Entry("audit", "Prove that nothing accepted or intended has vanished."),
    Entry("verify", "Prove that each record is what its transcript folds to."),
    Entry("doctor", "Look at the installation, the store and what waits; say what to do."),
    Entry("bench", "Measure this machine."),
)
