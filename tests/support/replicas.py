"""Replicas of the always-on service as processes of their own, watched through their logs."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from tests.support.command import CREDENTIALS, Workplace

Event = Mapping[str, Any]

LAB_KEYS = {CREDENTIALS["ALPHA_KEY"]: "alpha", CREDENTIALS["BRAVO_KEY"]: "bravo"}
"""API keys of a lab -> the tenants that a `Workplace` configures."""


class ReplicaProcess:
    """One `prober serve`; `events` holds its log so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.events: list[Event] = []
        self._news = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            with contextlib.suppress(ValueError):
                self.events.append(json.loads(line))
            if not line.startswith(b"{"):
                self.events.append({"event": "plain", "text": line.decode()})
            self._news.set()
        self.events.append({"event": "end of log"})
        self._news.set()

    async def until(self, event: str, seconds: float = 60, accepts: Callable[[Event], bool] = lambda _: True) -> Event:
        """Wait for a log line; its absence fails the test and shows what was logged instead."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self._news.clear()
                    for each in self.events:
                        if each["event"] == event and accepts(each):
                            return each
                    assert self.events[-1:] != [{"event": "end of log"}], f"ended before {event}: {self.events}"
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"no {event} within {seconds} s: {self.events}") from None

    def named(self, event: str) -> list[Event]:
        """All log lines of one event."""
        return [each for each in self.events if each["event"] == event]

    async def end(self, number: signal.Signals = signal.SIGTERM, seconds: float = 60) -> int:
        """Send a signal and wait for the end; gives the exit code."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        try:
            code = await asyncio.wait_for(self.process.wait(), seconds)
        except TimeoutError:
            raise AssertionError(f"has not ended within {seconds} s: {self.events[-15:]}") from None
        await self._reader
        return code


@contextlib.asynccontextmanager
async def replica(place: Workplace, *arguments: str) -> AsyncIterator[ReplicaProcess]:
    """Start a replica of a configured folder and wait until it serves; it is killed behind the caller."""
    process = ReplicaProcess(await place.spawn("serve", "--log-level", "debug", *arguments))
    try:
        await process.until("serving")
        yield process
    finally:
        await process.end(signal.SIGKILL)


def serving(place: Workplace, url: str, *, top: Mapping[str, object] | None = None, **target: object) -> Workplace:
    """Configure a folder for a replica that ends quickly, listens on a free port and does not test itself."""
    place.configure(url, **target)
    document = json.loads(place.config.read_text())
    wanted: dict[str, Any] = {
        "api": {"port": 0},
        "service": {"lease_seconds": 9, "drain_seconds": 20, "poll_seconds": 0.2, "self_test": False},
    }
    for key, value in (top or {}).items():
        wanted[key] = {**wanted.get(key, {}), **value} if isinstance(value, dict) else value
    place.config.write_text(json.dumps(document | wanted), encoding="utf-8")
    return place
