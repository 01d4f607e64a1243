import asyncio
import os
import socket
from pathlib import Path

import pytest

from prober.endpoint.timing import AckWatch, Stopwatch, kernel_send_queue

pytestmark = pytest.mark.alone


class TickingClock:
    """Counts seconds by hand."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self):
        raise AssertionError

    def monotonic(self) -> float:
        return self.at


def test_marks_are_relative_to_the_request_and_kept_once():
    """The first occurrence counts, except for the last token."""
    clock = TickingClock()
    stopwatch = Stopwatch(clock)
    for name in ("connect_start", "request_start", "body_sent", "headers", "headers"):
        stopwatch.mark(name)
        clock.at += 1
    stopwatch.token(stopwatch.now())
    clock.at += 1
    stopwatch.token(stopwatch.now())
    line = stopwatch.timeline(throttle_wait=0.5, loop_lag_seconds=0.25)
    assert (line.connect, line.body_sent, line.headers, line.first_token, line.last_token) == (1, 1, 2, 4, 5)
    assert (line.end, line.body_acked, line.throttle_wait, line.loop_lag_seconds) == (None, None, 0.5, 0.25)
    assert stopwatch.has("headers")
    assert not stopwatch.has("end")


def test_without_a_request_there_are_no_marks():
    """Nothing is dated from a request that never started."""
    stopwatch = Stopwatch(TickingClock())
    stopwatch.mark("connect_start")
    stopwatch.mark("end")
    stopwatch.token(1.0)
    line = stopwatch.timeline(throttle_wait=0, loop_lag_seconds=0)
    assert (line.connect, line.end, line.first_token, line.last_token) == (None, None, None, None)


def test_kernel_tells_what_the_peer_has_not_taken():
    """Bytes nobody has room for are counted; other descriptors say nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        sender = socket.create_connection(listener.getsockname())
        receiver, _ = listener.accept()
        with sender, receiver:
            assert kernel_send_queue(sender.fileno()) == 0
            sender.settimeout(0.05)
            with pytest.raises(TimeoutError):
                sender.sendall(b"x" * 30_000_000)
            assert kernel_send_queue(sender.fileno()) > 0
    assert kernel_send_queue(-1) is None
    with Path(os.devnull).open("rb") as device:
        assert kernel_send_queue(device.fileno()) is None


class ScriptedQueue:
    def __init__(self, *answers: int | None) -> None:
        self.answers = list(answers)

    def unacknowledged(self) -> int | None:
        return self.answers.pop(0) if self.answers else 0


async def watch(*answers: int | None, seconds: float = 0.05):
    acked = []
    watched = AckWatch(ScriptedQueue(*answers), lambda: acked.append(1))
    await asyncio.sleep(seconds)
    return watched, acked


async def test_queue_that_empties_is_reported_once():
    """The moment the queue is empty is reported, once."""
    watched, acked = await watch(5, 3, 0, 0)
    assert acked == [1]
    watched.settle()
    assert (acked, watched.is_watching) == ([1], False)


@pytest.mark.parametrize("answers", [(None,), (5, None)])
async def test_queue_that_cannot_be_read_is_given_up(answers: int | None):
    """No answer from the kernel: no report, no further polling."""
    watched, acked = await watch(*answers)
    assert (acked, watched.is_watching) == ([], False)


@pytest.mark.parametrize(("last", "reports"), [(0, [1]), (7, []), (None, [])])
async def test_first_answer_byte_settles_it(last: int | None, reports: list[int]):
    """When the answer begins, one last look decides."""
    watched, acked = await watch(5, last, seconds=0)
    watched.settle()
    await asyncio.sleep(0.01)
    assert (acked, watched.is_watching) == (reports, False)


async def test_stopped_watch_is_silent():
    """After `stop` nothing is reported; stopping twice is harmless."""
    watched, acked = await watch(5, 0, seconds=0)
    watched.stop()
    watched.stop()
    await asyncio.sleep(0.01)
    assert acked == []
