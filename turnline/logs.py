"""Logs: structured, one event a line; text for people, JSON for machines; never the values of local variables."""

import logging
import sys
from contextlib import suppress
from typing import TextIO, cast

import structlog


class Unfailing:
    """A stream on which writing never fails: when its reader is gone or its disk is full, a line is lost.

    A line that raised would take down what it tells about: a turn whose failure is logged would not be counted as
    failed, and a loop that logs a retry would die.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write it if that is possible."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush if that is possible."""
        with suppress(OSError, ValueError):
            self._stream.flush()


def configure_logs(kind: str, level: str, stream: TextIO = sys.stderr) -> None:
    """Set up logging for this process: `text` or `json`, from `level` on."""
    processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if kind == "json":
        processors += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        plain = structlog.dev.plain_traceback
        processors.append(structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain))
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, Unfailing(stream))),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, stream=stream, format="%(levelname)s %(name)s %(message)s")
