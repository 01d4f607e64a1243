"""One backend: a cluster, its identity, and the connections to it."""

import asyncio
import collections
import contextlib
import hashlib
import random
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Protocol

from prober.lab.cluster import Cluster
from prober.lab.crew import Crew
from prober.lab.events import Event, FrontEvent, GenerateRequest, Head, Service
from prober.lab.gateway.connection import Connection, ConnectionLostError, ConnectionPool
from prober.lab.settings import LabSettings


class ServedCluster(Protocol):
    """A cluster with its life cycle."""

    async def start(self) -> None:
        """Begin to serve."""
        ...

    async def stop(self) -> None:
        """Abort what is in flight and end."""
        ...

    def generate(self, request: GenerateRequest) -> AsyncGenerator[Event, None]:
        """Yield chunks, then a rejection or a `Done`. Closing it is the client's abort."""
        ...

    def facts(self) -> Mapping[str, object]:
        """Sizes and counters."""
        ...


Build = Callable[[LabSettings, ServedCluster | None], ServedCluster]
"""Builds a backend's cluster; the second argument is the one that it replaces after a rollout."""


def build_cluster(settings: LabSettings, replaced: ServedCluster | None) -> ServedCluster:
    """Build a new process's state; the store of the prefix cache outlives the process that filled it."""
    return Cluster(settings, store=replaced.store if isinstance(replaced, Cluster) else None)


class Backend:
    """One member of a model group."""

    def __init__(
        self, name: str, settings: LabSettings, build: Build, crew: Crew, counters: collections.Counter[str]
    ) -> None:
        self.name = name
        self.settings = settings
        self.in_flight = 0
        """Requests that wait for their replies."""
        self.is_ready = asyncio.Event()
        """Cleared while it restarts."""
        self._build = build
        self._counters = counters
        self._fingerprint = fingerprint(settings)
        self._losses = random.Random(f"losses {settings.seed}")  # noqa: S311 - simulation, no secret
        self._past: collections.Counter[str] = collections.Counter()
        self.cluster = build(settings, None)
        self.connections = ConnectionPool(
            lambda: Connection(crew, self._answer), settings.gateway.connection_uses, counters
        )

    async def start(self) -> None:
        """Begin to serve."""
        await self.cluster.start()
        self.is_ready.set()

    async def stop(self) -> None:
        """Abort what is in flight and end."""
        await self.connections.close()
        await self.cluster.stop()

    async def connect(self) -> Connection:
        """Take a connection, once there is a process at its far end."""
        while True:
            await self.is_ready.wait()
            connection = await self.connections.take()
            if self.is_ready.is_set():
                return connection
            self.connections.give_back(connection)

    async def restart(self) -> None:
        """Replace the process: connections break, all its state is gone but for what outlives it."""
        self.is_ready.clear()
        try:
            await self.stop()
            self._past = self._counts()
            self.cluster = self._build(self.settings, self.cluster)
            await self.cluster.start()
        finally:
            self.is_ready.set()

    def facts(self) -> dict[str, object]:
        """The cluster's facts; counters go on counting over restarts."""
        facts = dict(self.cluster.facts())
        if "counters" in facts:
            facts["counters"] = dict(self._counts())
        return facts

    def _counts(self) -> collections.Counter[str]:
        counters = self.cluster.facts().get("counters")
        counts = collections.Counter(self._past)
        # Updating keeps what stands at zero, unlike `+`.
        counts.update(_numbers(counters) if isinstance(counters, Mapping) else {})
        return counts

    async def _answer(self, request: GenerateRequest) -> AsyncGenerator[FrontEvent, None]:
        """The far end of a connection: headers come with the first output, as SGLang sends them."""
        if self._losses.random() < self.settings.gateway.loss_rate:
            self._counters["upstream_losses"] += 1
            raise ConnectionLostError("the backend closed the connection")
        head: Head | None = Head(
            answer_id=request.request_id,
            fingerprint=self._fingerprint,
            service=Service(answer_of=request.request_id, backend=self.name),
        )
        async with contextlib.aclosing(self.cluster.generate(request)) as events:
            async for event in events:
                if head:
                    yield head
                    head = None
                yield event


def _numbers(counters: Mapping[str, object]) -> dict[str, int]:
    return {name: number for name, number in counters.items() if isinstance(number, int)}


def fingerprint(settings: LabSettings) -> str:
    """Label of a build: the same for like backends, another one where LLM, version or sizes differ."""
    build = (settings.model, settings.version, settings.context_tokens, settings.prefill_pool_tokens, settings.preamble)
    return "fp_" + hashlib.sha256(repr(build).encode()).hexdigest()[:10]
