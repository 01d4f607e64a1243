"""Readers that go away."""

import io
import os
import sys

import pytest

from prober.cli.exits import Exit
from prober.cli.terminal import accept_any_encoding, open_console, silence
from tests.support.command import Workplace, finish
from tests.support.fake_llm import FakeLlm
from tests.support.hostile import hostile


async def test_a_reader_that_goes_away_does_not_turn_the_verdict_red(place: Workplace):
    """`prober run | head -1`: the run goes on to its end, and its exit code is that of its verdict."""
    llm = FakeLlm()
    async with hostile(llm.handler()) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", scenarios=["baseline"])
        process = await place.spawn("run", read_stdout=False)
        finished = await finish(process)

    assert finished.code == Exit.CLEAN
    assert [outcome for outcome, _, _ in place.run_rows()] == ["clean"]
    assert "BrokenPipe" not in finished.stderr


def test_nothing_is_coloured_in_a_pipe(capsys: pytest.CaptureFixture[str]):
    """Numbers and paths stay plain text for those who search them."""
    open_console().print("12 requests, /tmp/x")
    open_console(stderr=True).print("warning: 7")

    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("12 requests, /tmp/x\n", "warning: 7\n")


def test_a_silenced_stream_takes_everything_and_says_nothing():
    """What is still buffered can be flushed at the process's end without a fault."""
    reader, writer = os.pipe()
    stream = os.fdopen(writer, "w")
    os.close(reader)
    stream.write("left over")
    silence(stream)
    stream.flush()
    stream.close()


def test_an_encoding_that_lacks_a_character_loses_that_character_only(monkeypatch: pytest.MonkeyPatch):
    """Tables cut long words with an ellipsis, which the ASCII of a bare container does not have: no failure of ours."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    accept_any_encoding()
    open_console().print("cut\N{HORIZONTAL ELLIPSIS}")
    sys.stdout.flush()
    assert raw.getvalue() == b"cut?\n"


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_a_stream_without_an_encoding_is_left_alone(stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch):
    """Standard output may be replaced, or missing."""
    monkeypatch.setattr(sys, "stdout", stream)
    accept_any_encoding()
