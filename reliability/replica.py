"""One replica of the service: started, killed, stopped and continued, always by its own process id."""

import asyncio
import collections
import contextlib
import json
import pathlib
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from reliability.place import Place, StageError

READY_SECONDS = 90.0
END_SECONDS = 90.0
GONE = "LedgerGoneError"
"""The API says so of each request that comes meanwhile: that is what it was told to do."""

_LINES_KEPT = 30

Event = Mapping[str, Any]


class Replica:
    """`prober serve` under one configuration; after a kill `start` begins it anew."""

    def __init__(self, place: Place, config: pathlib.Path, program: Sequence[str] = ("-m", "prober")) -> None:
        self._place = place
        self.config = config
        self._program = program
        self.address = ""
        """Of its API; a new one after each start."""
        self.events: collections.Counter[str] = collections.Counter()
        """Log lines so far, by their event."""
        self.faults: collections.Counter[str] = collections.Counter()
        """Internal errors that it logged, by component, kind and place; a database that was gone is none."""
        self.lines = 0
        """Of its log, over all lives."""
        self._last: collections.deque[str] = collections.deque(maxlen=_LINES_KEPT)
        self._news = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        return self._running().pid

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self, level: str = "info") -> None:
        """Start it and wait until it serves.

        Raises:
            StageError: it does not come up.
        """
        before = self.events["serving"]
        process = await self._place.spawn(
            self.config, "serve", "--log-format", "json", "--log-level", level, program=self._program
        )
        self._process = process
        self._reader = asyncio.create_task(self._read(process))
        await self.until("serving", before + 1)

    async def until(self, event: str, count: int = 1) -> None:
        """Wait until the log holds so many lines of an event, over all lives.

        Raises:
            StageError: it ended first, or does not say so in time.
        """
        await self._until(lambda: self.events[event] >= count, event)

    async def until_lines(self, count: int) -> None:
        """Wait until the log holds so many lines, over all lives; StageError as for `until`."""
        await self._until(lambda: self.lines >= count, f"line {count}")

    async def _until(self, is_so: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(READY_SECONDS):
                while not is_so():
                    self._news.clear()
                    if not self.is_alive:
                        raise StageError(f"a replica ended before {what} of its log: {self.last_words}")
                    await self._news.wait()
        except TimeoutError:
            raise StageError(f"no {what} in the log within {READY_SECONDS:.0f} s: {self.last_words}") from None

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it lives."""
        if self.is_alive:
            self._running().send_signal(number)

    async def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; gives the exit code.

        Raises:
            StageError: it does not end, and was killed.
        """
        process = self._running()
        self.send(number)
        try:
            code = await asyncio.wait_for(process.wait(), END_SECONDS)
        except TimeoutError:
            self.send(signal.SIGKILL)
            await process.wait()
            raise StageError(f"a replica has not ended within {END_SECONDS:.0f} s: {self.last_words}") from None
        if self._reader is not None:
            await self._reader
        return code

    @property
    def last_words(self) -> str:
        """The end of its log."""
        return " | ".join(self._last)

    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise StageError("the replica was not started")
        return self._process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        if process.stderr is None:
            return
        async for line in process.stderr:
            self._keep(line)
            self.lines += 1
            self._last.append(line.decode(errors="replace").strip()[:500])
            with contextlib.suppress(ValueError):
                event: Event = json.loads(line)
                if event["event"] == "serving":
                    self.address = event["address"]
                if event["event"] == "internal_error":
                    self.faults.update(_places_of(event))
                self.events[event["event"]] += 1
            self._news.set()
        await process.wait()
        self._news.set()

    def _keep(self, line: bytes) -> None:
        """Write it down, for whoever looks into the folder afterwards."""
        with self.config.with_suffix(".log").open("ab") as log:
            log.write(line)


def _places_of(event: Event) -> Iterator[str]:
    """Component, class, and the innermost frame of ours."""
    error = event.get("error")
    facts = error if isinstance(error, dict) else {"class": str(error)}
    name = str(facts.get("class")).rpartition(".")[2]
    if name != GONE:
        yield f"{event.get('component')}: {name} at {(facts.get('frames') or ['unknown'])[-1]}"


@contextlib.asynccontextmanager
async def replicas(place: Place, configs: Sequence[pathlib.Path]) -> AsyncIterator[list[Replica]]:
    """Replicas, none of them started; whatever lives in the end is killed."""
    made = [Replica(place, config) for config in configs]
    try:
        yield made
    finally:
        for each in made:
            if each.is_alive:
                with contextlib.suppress(StageError):
                    await each.end(signal.SIGKILL)
