"""Exceptions for the log."""

import json

import pytest

from prober.domain.errors import LedgerError
from prober.telemetry.faults import describe
from prober.telemetry.redaction import Redactor


def caught(error: BaseException, *, cause: BaseException | None = None) -> BaseException:
    """Raise and catch, for a traceback and a cause."""

    def throw() -> None:
        raise error from cause

    with pytest.raises(type(error)) as raised:
        throw()
    return raised.value


def test_foreign_texts_are_left_out():
    """An exception of unknown origin shows its class and never its text, nor does what caused it."""
    fault = describe(caught(ValueError("secret one"), cause=KeyError("secret two")))

    assert fault == {"class": "ValueError", "frames": [], "causes": ["KeyError"]}


def test_our_own_messages_are_kept():
    """Our faults say what to change, in our words."""
    fault = describe(LedgerError("The database is read-only."))

    assert (fault["class"], fault["message"]) == ("prober.domain.errors.LedgerError", "The database is read-only.")


def test_only_our_frames_are_shown():
    """Frames of our package are named by module, line and function; frames of others are left out."""
    with pytest.raises(AttributeError) as raised:
        Redactor([5])  # type: ignore[list-item]  # the fault under test

    frames = describe(raised.value)["frames"]
    assert {frame.split(":")[0] for frame in frames} == {"prober.telemetry.redaction"}
    assert [frames[0].split()[-1], frames[-1].split()[-1]] == ["__init__", "_spellings"]


def test_groups_tell_their_members():
    """An exception group of a task group names the classes of its members."""
    group = ExceptionGroup("secret", [ValueError("a"), ExceptionGroup("b", [OSError("c")])])

    assert describe(group)["causes"] == ["ValueError", "ExceptionGroup", "OSError"]


def test_chains_are_bounded_and_end():
    """A chain that bites its own tail, or is very long, is cut."""
    first, second = ValueError(), KeyError()
    first.__context__, second.__context__ = second, first
    assert describe(first)["causes"] == ["KeyError"]

    error: BaseException = ValueError()
    for _ in range(50):
        error = caught(ValueError(), cause=error)
    assert len(describe(error)["causes"]) == 8
    assert len(describe(ExceptionGroup("x", [ValueError() for _ in range(50)]))["causes"]) == 8


def test_deep_stacks_are_bounded():
    """Of a deep stack the innermost twenty frames are kept."""
    scope = {"__name__": "prober.fake"}
    exec("def down(n):\n    1 / 0 if n == 0 else down(n - 1)\n", scope)  # noqa: S102  (a frame that calls itself ours)

    with pytest.raises(ZeroDivisionError) as raised:
        scope["down"](60)

    assert describe(raised.value)["frames"][-1] == "prober.fake:2 down"
    assert len(describe(raised.value)["frames"]) == 20


def test_faults_are_plain_data():
    """What is described can be written as JSON."""
    assert json.dumps(describe(caught(LedgerError("x"), cause=OSError("y"))))
