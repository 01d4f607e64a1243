"""A cluster whose every answer names its request, and ways to ask a gateway in front of some."""

import asyncio
import contextlib
import dataclasses
import itertools
from collections.abc import AsyncGenerator, Callable, Mapping

from prober.lab.events import Chunk, Done, Event, FrontEvent, GenerateRequest, Head, Rejection, Stage
from prober.lab.gateway.backend import ServedCluster
from prober.lab.gateway.gateway import Gateway
from prober.lab.settings import LabSettings

_ids = itertools.count(1)


def a_request(tenant: str = "amber", text: str = "hello", **fields: object) -> GenerateRequest:
    """A request with a unique id."""
    return GenerateRequest(
        tenant=tenant, messages=(("user", text),), max_tokens=8, request_id=f"{next(_ids):032x}", **fields
    )


def answer_to(request: GenerateRequest) -> str:
    """What an `EchoCluster` says to a request, whoever asks."""
    return f"{request.messages[-1][1]} {request.choices}"


@dataclasses.dataclass
class EchoCluster:
    """Takes `turns` turns of the event loop for each event; prompts that begin with `refuse` are refused."""

    turns: Callable[[GenerateRequest], int] = lambda _request: 1
    requests: list[GenerateRequest] = dataclasses.field(default_factory=list)
    finished: list[str] = dataclasses.field(default_factory=list)
    aborted: list[str] = dataclasses.field(default_factory=list)
    is_running: bool = False
    starts: int = 0

    async def start(self) -> None:
        self.is_running = True
        self.starts += 1

    async def stop(self) -> None:
        self.is_running = False

    def facts(self) -> Mapping[str, object]:
        return {"counters": {"requests": len(self.requests)}}

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[Event, None]:
        assert self.is_running
        self.requests.append(request)
        is_whole = False
        text = request.messages[-1][1]
        try:
            await self._wait(request)
            if text.startswith("refuse"):
                is_whole = True
                yield a_rejection(int(text.split()[1]))
                return
            for piece in answer_to(request).split(" "):
                yield Chunk(content=f"{piece} ")
                await self._wait(request)
            is_whole = True
            yield Done(finish_reason="stop", prompt_tokens=len(text), completion_tokens=2)
        finally:
            (self.finished if is_whole else self.aborted).append(request.request_id)

    async def _wait(self, request: GenerateRequest) -> None:
        for _turn in range(self.turns(request)):
            await asyncio.sleep(0)


def a_rejection(status: int) -> Rejection:
    """What an `EchoCluster` says to `refuse STATUS`."""
    return Rejection(status=status, message="no", error_type="E", stage=Stage.SCHEDULER)


@dataclasses.dataclass(frozen=True)
class Heard:
    """All that one client was sent."""

    events: tuple[FrontEvent, ...]

    @property
    def text(self) -> str:
        return "".join(event.content for event in self.events if isinstance(event, Chunk)).strip()

    @property
    def head(self) -> Head:
        [head] = [event for event in self.events if isinstance(event, Head)]
        return head

    @property
    def last(self) -> FrontEvent:
        return self.events[-1]


async def ask(gateway: Gateway, request: GenerateRequest) -> Heard:
    """Read one answer to its end; a hang fails the test."""
    async with asyncio.timeout(10), contextlib.aclosing(gateway.generate(request)) as answer:
        return Heard(tuple([event async for event in answer]))


async def ask_all(gateway: Gateway, *requests: GenerateRequest) -> list[Heard]:
    """Ask at the same time, in this order."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(gateway, request)) for request in requests]
    return [task.result() for task in tasks]


async def hang_up(gateway: Gateway, request: GenerateRequest, turns: int) -> None:
    """Ask, and hang up after so many turns of the event loop."""
    asking = asyncio.create_task(ask(gateway, request))
    for _turn in range(turns):
        await asyncio.sleep(0)
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking


@contextlib.asynccontextmanager
async def fronted(settings: LabSettings, *clusters: ServedCluster):
    """A started gateway in front of these clusters, or of real ones when none are given."""
    spare = list(clusters)

    def build(_settings: LabSettings, replaced: ServedCluster | None) -> ServedCluster:
        return replaced or spare.pop(0)

    gateway = Gateway(settings, build) if clusters else Gateway(settings)
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()
