"""Ctrl-C, and the SIGTERM of CI runners and containers."""

import asyncio
import os
import signal

import pytest

from prober.cli import interrupts
from prober.cli.exits import Exit
from prober.cli.interrupts import run_interruptible
from prober.domain.outcome import Outcome
from tests.support.command import Workplace, finish
from tests.support.hostile import Peer, hostile, stalling


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_an_interrupt_is_130_and_the_run_stands_closed(number: signal.Signals, place: Workplace):
    """A run that is stopped by Ctrl-C or by its container is INCONCLUSIVE in the database, its probes remembered."""
    reached = asyncio.Event()
    stall = stalling()

    async def waiting(peer: Peer) -> None:
        reached.set()
        await stall(peer)

    async with hostile(waiting) as server:
        place.configure(f"http://127.0.0.1:{server.port}/v1", hang_seconds=60, deadline_seconds=60)
        process = await place.spawn("run")
        async with asyncio.timeout(60):
            while not reached.is_set() and process.returncode is None:  # noqa: ASYNC110 - whichever comes first
                await asyncio.sleep(0.02)
        if process.returncode is None:
            process.send_signal(number)
        finished = await finish(process)

    assert finished.code == Exit.INTERRUPTED
    assert "interrupted" in finished.stderr
    assert "Traceback" not in finished.said
    ((outcome, reasons, ended_at),) = place.run_rows()
    assert (outcome, "interrupted" in reasons) == (Outcome.INCONCLUSIVE.value, True)
    assert ended_at is not None
    assert place.answers() == [None]


def test_work_that_is_not_interrupted_gives_what_it_made():
    """Without a signal it is as if it were not there, and the signal's old handler is back."""

    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    before = signal.getsignal(signal.SIGTERM)
    assert run_interruptible(work()) == 7
    assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_lets_the_work_close_what_it_has_open():
    """The work is cancelled, not killed: its `finally` may still await."""
    closed = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert closed == [True]


async def test_beside_the_main_thread_the_work_runs_all_the_same():
    """Signals reach the main thread only; that is no reason to fail."""

    async def work() -> int:
        return 7

    assert await asyncio.to_thread(run_interruptible, work()) == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_second_interrupt_ends_what_the_first_lets_close(number: signal.Signals):
    """Work that writes down what it saw, and waits for its database, is not waited for by whoever insists."""
    seen = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            seen.append("first")
            try:
                os.kill(os.getpid(), number)
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                seen.append("second")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert seen == ["first", "second"]


def test_closing_is_bounded(monkeypatch: pytest.MonkeyPatch):
    """Nobody need interrupt twice: a supervisor's one signal ends it too."""
    monkeypatch.setattr(interrupts, "CLOSE_SECONDS", 0.05)
    cut = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(10)
        finally:
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                cut.append(True)

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert cut == [True]
