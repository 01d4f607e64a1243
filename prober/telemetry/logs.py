"""Structured logs, JSON for machines or console for people, with every value passed through the redactor."""

import contextlib
import datetime as dt
import enum
import logging
import math
import pathlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol, TextIO, cast

import structlog

from prober.telemetry.faults import describe
from prober.telemetry.redaction import REDACTED, Redactor

_MAX_DEPTH = 6
_MAX_ITEMS = 50


class LogFormat(enum.Enum):
    """How log lines look."""

    JSON = "json"
    CONSOLE = "console"


class Log(Protocol):
    """A structured logger: an event's name and its facts."""

    def debug(self, event: str, **facts: object) -> object:
        """Write detail."""
        ...

    def info(self, event: str, **facts: object) -> object:
        """Write the ordinary course."""
        ...

    def warning(self, event: str, **facts: object) -> object:
        """Write what someone should look at."""
        ...

    def error(self, event: str, **facts: object) -> object:
        """Write what someone must look at."""
        ...


def open_log(
    stream: TextIO,
    *,
    form: LogFormat,
    redactor: Redactor,
    now: Callable[[], dt.datetime],
    level: int = logging.INFO,
) -> Log:
    """Make a logger that writes to a stream; nothing global is touched.

    Args:
        stream: Where lines go.
        form: JSON or console.
        redactor: Sees every key and value before it is written.
        now: Aware date for each line's timestamp.
        level: Least level written, as in `logging`.
    """
    if form is LogFormat.JSON:
        renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=stream.isatty())
    stamp = _Stamp(now)
    logger = structlog.wrap_logger(
        structlog.WriteLogger(stream),
        processors=[structlog.processors.add_log_level, _Scrubber(redactor), stamp, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    return cast("Log", logger)


@contextlib.contextmanager
def stdlib_routed(log: Log, level: int = logging.WARNING) -> Iterator[None]:
    """Send the standard library's log records (of all our dependencies) through `log` while the context lasts."""
    root = logging.getLogger()
    handlers, previous = root.handlers[:], root.level
    root.handlers[:] = [_Bridge(log)]
    root.setLevel(level)
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(previous)


class _Stamp:
    """Adds the timestamp, UTC, milliseconds, as the first field."""

    def __init__(self, now: Callable[[], dt.datetime]) -> None:
        self._now = now

    def __call__(self, _logger: object, _method: str, event: MutableMapping[str, object]) -> Mapping[str, object]:
        stamp = self._now().astimezone(dt.UTC).isoformat(timespec="milliseconds")
        return {"timestamp": stamp, **event}


class _Scrubber:
    """Turns every value into plain, bounded, redacted data. An object of unknown kind shows its class only."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def __call__(self, _logger: object, _method: str, event: MutableMapping[str, object]) -> Mapping[str, object]:
        return self._fields(event, _MAX_DEPTH)

    def _fields(self, fields: Mapping[Any, object], depth: int) -> dict[str, object]:
        scrubbed = {}
        for key in list(fields)[:_MAX_ITEMS]:
            name = self._redactor.redact(str(key) if isinstance(key, str | int) else type(key).__name__)
            scrubbed[name] = REDACTED if self._redactor.hides(name) else self._plain(fields[key], depth)
        return scrubbed

    def _plain(self, value: object, depth: int) -> object:
        if value is None or isinstance(value, bool | int | float):
            # JSON knows no infinity and no NaN.
            return value if not isinstance(value, float) or math.isfinite(value) else str(value)
        if isinstance(value, str | pathlib.PurePath):
            return self._redactor.redact(str(value))
        if isinstance(value, enum.Enum):
            return self._plain(value.value, depth)
        if isinstance(value, dt.datetime):
            return value.isoformat()
        if isinstance(value, BaseException):
            return self._fields(describe(value), depth)
        return self._container(value, depth)

    def _container(self, value: object, depth: int) -> object:
        if depth > 0 and isinstance(value, Mapping):
            return self._fields(value, depth - 1)
        if depth > 0 and isinstance(value, list | tuple | set | frozenset):
            return [self._plain(item, depth - 1) for item in list(value)[:_MAX_ITEMS]]
        return f"<{type(value).__name__}>"


class _Bridge(logging.Handler):
    """Hands records on: logger, message template with numbers filled in, exception by class."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        write = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        error = record.exc_info[1] if record.exc_info else None
        facts = {} if error is None else {"error": error}
        with contextlib.suppress(Exception):
            # A log line that cannot be written must not stop what was being logged.
            write(_template(record), logger=record.name, **facts)


def _template(record: logging.LogRecord) -> str:
    """First line of a record, its arguments shown by kind: they may quote what a peer sent."""
    template = str(record.msg) if isinstance(record.msg, str) else f"<{type(record.msg).__name__}>"
    if isinstance(record.args, tuple) and record.args:
        shown = tuple(arg if isinstance(arg, int | float) else f"<{type(arg).__name__}>" for arg in record.args)
        with contextlib.suppress(TypeError, ValueError):
            template %= shown
    return template.split("\n", 1)[0]
