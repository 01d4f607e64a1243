"""Structured logs."""

import asyncio
import base64
import datetime as dt
import enum
import io
import json
import logging
import pathlib
from collections.abc import Callable

import pytest

from prober.domain.errors import LedgerError
from prober.domain.outcome import Outcome
from prober.telemetry.logs import Log, LogFormat, open_log, stdlib_routed
from prober.telemetry.redaction import Redactor

SECRET = 'tenant-A:"Key"/0987654321'
NOON = dt.datetime(2026, 9, 1, 14, 0, 0, 5000, tzinfo=dt.timezone(dt.timedelta(hours=2)))


def a_log(form: LogFormat = LogFormat.JSON, level: int = logging.INFO) -> tuple[Log, io.StringIO]:
    stream = io.StringIO()
    return open_log(stream, form=form, redactor=Redactor([SECRET]), now=lambda: NOON, level=level), stream


def one_line(stream: io.StringIO) -> dict:
    """The only line, decoded."""
    (line,) = stream.getvalue().splitlines()
    return json.loads(line)


def test_a_line_is_one_json_object():
    """Each event is one line of JSON with time (UTC), level, event and facts."""
    log, stream = a_log()

    log.warning("run_ended", probes=3, outcome=Outcome.CLEAN, bound=0.5, none=None, at=NOON, where=pathlib.Path("a/b"))

    assert one_line(stream) == {
        "timestamp": "2026-09-01T12:00:00.005+00:00",
        "level": "warning",
        "event": "run_ended",
        "probes": 3,
        "outcome": "clean",
        "bound": 0.5,
        "none": None,
        "at": NOON.isoformat(),
        "where": "a/b",
    }


class Opaque:
    """Something whose repr holds a secret."""

    def __repr__(self) -> str:
        """Betray it."""
        return SECRET


class Number(enum.IntEnum):
    """An enum that is a number."""

    ONE = 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Opaque(), "<Opaque>"),
        (b"bytes", "<bytes>"),
        ((1, "x", {2}), [1, "x", [2]]),
        ({"a": {"b": [True]}, 7: 1, (1,): 2}, {"a": {"b": [True]}, "7": 1, "tuple": 2}),
        ([[[[[[[1]]]]]]], [[[[[["<list>"]]]]]]),
        (list(range(80)), list(range(50))),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (Number.ONE, 1),
        (
            {"password": "x", "nested": {"api_key": "y"}},
            {"password": "[redacted]", "nested": {"api_key": "[redacted]"}},
        ),
    ],
)
def test_values_become_plain_and_bounded(value: object, shown: object):
    """Containers are copied within bounds, and an object of unknown kind shows its class, never its repr."""
    log, stream = a_log()

    log.info("event", value=value)

    assert one_line(stream)["value"] == shown


@pytest.mark.parametrize("form", list(LogFormat))
@pytest.mark.parametrize(
    "leak",
    [
        lambda log: log.info(SECRET),
        lambda log: log.info("event", fact=SECRET.upper()),
        lambda log: log.info("event", fact=json.dumps({"k": SECRET})),
        lambda log: log.info("event", fact=base64.b64encode(SECRET.encode()).decode()),
        lambda log: log.info("event", fact={"deep": [{SECRET: SECRET}]}),
        lambda log: log.info("event", authorization=f"Bearer {SECRET}"),
        lambda log: log.info("event", error=LedgerError(f"database {SECRET}")),
        lambda log: log.info("event", error=chained()),
    ],
)
def test_no_secret_reaches_the_stream(form: LogFormat, leak):  # noqa: ANN001  (functions of a log)
    """A registered secret never comes out: whole, in another case, encoded, nested, or in a chain of exceptions."""
    log, stream = a_log(form)

    leak(log)

    written = stream.getvalue()
    assert written
    assert "0987654321" not in written
    assert base64.b64encode(SECRET.encode()).decode()[4:-4] not in written


def chained() -> BaseException:
    """An exception with secrets in its text and in its cause's."""
    error = ValueError(SECRET)
    error.__cause__ = OSError(SECRET)
    return error


def test_exceptions_show_classes_only():
    """An exception is told by its class and causes, without its text."""
    log, stream = a_log()

    log.error("internal_error", error=chained())

    assert one_line(stream)["error"] == {"class": "ValueError", "frames": [], "causes": ["OSError"]}


def test_lines_cannot_be_forged():
    """Line breaks and terminal controls in a value stay inside their line, on the console too."""
    for form in LogFormat:
        log, stream = a_log(form)

        log.info("event\nforged", fact="a\r\n2026-01-01 forged\x1b[2J")

        assert len(stream.getvalue().splitlines()) == 1
        assert "\x1b[2J" not in stream.getvalue()


@pytest.mark.parametrize(("level", "events"), [(logging.DEBUG, 4), (logging.INFO, 3), (logging.ERROR, 1)])
def test_the_level_is_kept(level: int, events: int):
    """Events below the level are not written."""
    log, stream = a_log(level=level)

    for write in (log.debug, log.info, log.warning, log.error):
        write("event")

    assert len(stream.getvalue().splitlines()) == events


def routed(write: Callable[[logging.Logger], object]) -> dict:
    """What becomes of one record of the standard library's."""
    log, stream = a_log()
    with stdlib_routed(log):
        write(logging.getLogger("some.library"))
    assert "0987654321" not in stream.getvalue()
    return one_line(stream)


@pytest.mark.parametrize(
    ("message", "arguments", "event"),
    [
        ("plain", (), "plain"),
        ("%d of %s after %.2f s: %r", (3, "foreign text", 0.25, b"x"), "3 of <str> after 0.25 s: '<bytes>'"),
        ("%d broken", ("text",), "%d broken"),
        ("%s too few", (), "%s too few"),
        ("%s", (1, 2), "%s"),
        ("first line\nforeign repr", (), "first line"),
        ("%(name)s", ({"name": "foreign"},), "%(name)s"),
        (ValueError("foreign"), (), "<ValueError>"),
    ],
)
def test_records_of_dependencies_show_no_foreign_text(message: str, arguments: tuple, event: str):
    """Of other libraries' records the template, numbers and kinds of arguments are written, never the arguments."""
    line = routed(lambda logger: logger.warning(message, *arguments))

    assert (line["event"], line["logger"], line["level"]) == (event, "some.library", "warning")


def test_records_with_exceptions_show_their_class():
    """An exception that a dependency logs is told like our own."""
    line = routed(lambda logger: logger.error("failed", exc_info=chained()))

    assert (line["level"], line["error"]["class"]) == ("error", "ValueError")


def test_records_without_an_exception_say_nothing_of_one():
    """A record that asks for an exception where there is none is written without."""
    assert "error" not in routed(lambda logger: logger.error("failed", exc_info=(None, None, None)))


def test_records_below_warning_are_not_written():
    """A line per request, as HTTP clients write it, stays out."""
    log, stream = a_log()

    with stdlib_routed(log):
        logging.getLogger("httpx").info("HTTP Request: GET http://user:pw@host")

    assert stream.getvalue() == ""


def test_unraised_task_errors_go_through_the_log():
    """A lost exception of a task is reported by its first line and class."""

    def lose(_: logging.Logger) -> None:
        loop = asyncio.new_event_loop()
        context = {"message": "Task exception was never retrieved", "exception": chained(), "future": SECRET}
        loop.call_exception_handler(context)
        loop.close()

    line = routed(lose)

    assert (line["event"], line["error"]["class"]) == ("Task exception was never retrieved", "ValueError")


def test_the_standard_library_is_given_back():
    """Handlers and level of the root logger are as before once the context ends, even by an exception."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    log, _ = a_log()

    def fail() -> None:
        with stdlib_routed(log, logging.ERROR):
            assert (len(root.handlers), root.level) == (1, logging.ERROR)
            raise KeyError

    with pytest.raises(KeyError):
        fail()

    assert (root.handlers, root.level) == before


def test_a_closed_stream_does_not_stop_who_logs():
    """A dependency that logs into a closed stream goes on."""
    log, stream = a_log()
    stream.close()

    with stdlib_routed(log):
        logging.getLogger("x").warning("lost")
