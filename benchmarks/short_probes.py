"""Processor time of a short probe, sending and decoding, beside a bare httpx client."""

import asyncio
import contextlib
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from benchmarks.bare_client import ask, bare_client
from benchmarks.figure import Figure, Sizes, beside
from benchmarks.material import SHORT_TOKENS, endpoint_of, probe_of, prompt_of
from benchmarks.peer import peer
from prober.domain.probe import ConnectionPolicy

Call = Callable[[], Awaitable[None]]


def short_probes(sizes: Sizes) -> Iterator[Figure]:
    """Processor time of one probe and its answer of 20 tokens, one at a time and several in flight."""
    for in_flight in (1, sizes.in_flight):
        for policy in ConnectionPolicy:
            ours, bare = asyncio.run(_measure(policy, in_flight, sizes))
            yield Figure(
                name=f"CPU of a short probe, {policy.value}, {in_flight} in flight",
                value=statistics.median(ours),
                unit="ms",
                beside=beside("bare httpx", ours, bare, "ms"),
            )


async def _measure(policy: ConnectionPolicy, in_flight: int, sizes: Sizes) -> tuple[list[float], list[float]]:
    """Milliseconds per probe of each block, ours and bare in turn."""
    ours, bare = [], []
    async with peer() as url, _our_call(url, policy) as our_call, _bare_call(url, policy) as bare_call:
        for call in (our_call, bare_call):
            await _block(call, in_flight, in_flight)
        for _ in range(sizes.blocks):
            ours.append(await _block(our_call, sizes.probes, in_flight))
            bare.append(await _block(bare_call, sizes.probes, in_flight))
    return ours, bare


async def _block(call: Call, probes: int, in_flight: int) -> float:
    async def lane() -> None:
        for _ in range(probes // in_flight):
            await call()

    began = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(lane())
    return (time.process_time() - began) * 1e3 / (probes // in_flight * in_flight)


@contextlib.asynccontextmanager
async def _our_call(url: str, policy: ConnectionPolicy) -> AsyncIterator[Call]:
    prompt, probe = prompt_of(SHORT_TOKENS), probe_of(policy)
    endpoint = endpoint_of(url)

    async def call() -> None:
        observation = await endpoint.send(probe, prompt)
        assert observation.is_terminated, observation
        assert observation.failure is None

    try:
        yield call
    finally:
        await endpoint.close()


@contextlib.asynccontextmanager
async def _bare_call(url: str, policy: ConnectionPolicy) -> AsyncIterator[Call]:
    text = prompt_of(SHORT_TOKENS).text
    async with bare_client() as shared:

        async def call() -> None:
            if policy is ConnectionPolicy.SHARED:
                await ask(shared, url, text)
                return
            async with bare_client() as fresh:
                await ask(fresh, url, text)

        yield call
