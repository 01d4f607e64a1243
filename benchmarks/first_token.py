"""How much later than the lab's own record the first token is reported, beside a bare httpx client."""

import asyncio
import statistics
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import TypeVar

import httpx

from benchmarks.bare_client import BareAnswer, ask, bare_client
from benchmarks.figure import Figure, Sizes, beside
from benchmarks.material import SECRET, SHORT_TOKENS, TENANT, endpoint_of, probe_of, prompt_of
from prober.domain.observation import Observation
from prober.domain.probe import ConnectionPolicy
from prober.service.lab_process import lab_process

Answer = TypeVar("Answer")


def first_token(sizes: Sizes) -> Iterator[Figure]:
    """Bias of the first-token mark, which all processes of one machine can date on CLOCK_MONOTONIC."""
    for in_flight in (1, sizes.in_flight):
        for policy in ConnectionPolicy:
            ours, bare = asyncio.run(_biases(policy, in_flight, sizes))
            yield Figure(
                name=f"TTFT bias, p50, {policy.value}, {in_flight} in flight",
                value=statistics.median(ours),
                unit="ms",
                beside=f"p90 {_p90(ours):.3g} ms; {_compared(ours, bare)}",
            )


def _compared(ours: Sequence[float], bare: Sequence[float]) -> str:
    p90 = _p90(bare)
    return f"{beside('bare httpx', [statistics.median(ours)], [statistics.median(bare)], 'ms')}, its p90 {p90:.3g} ms"


def _p90(values: Sequence[float]) -> float:
    return sorted(values)[int(0.9 * (len(values) - 1))]


async def _biases(policy: ConnectionPolicy, in_flight: int, sizes: Sizes) -> tuple[list[float], list[float]]:
    """Milliseconds too late, ours and bare in turn."""
    text = prompt_of(SHORT_TOKENS)
    ours: dict[str, float] = {}
    bare: dict[str, float] = {}
    rounds = max(1, sizes.probes * sizes.blocks // (4 * in_flight))
    async with lab_process("fixed", {SECRET: TENANT.name}) as url, bare_client() as shared:
        endpoint = endpoint_of(url)
        try:
            # The first round opens the kept-alive connections: it is left out.
            for round_number in range(rounds + 1):
                observations = await _together([endpoint.send(probe_of(policy), text) for _ in range(in_flight)])
                answers = await _together([_ask_bare(shared, policy, url, text.text) for _ in range(in_flight)])
                if round_number:
                    ours |= {observation.request_id: _seconds(observation) for observation in observations}
                    bare |= {answer.request_id: answer.first_token for answer in answers}
        finally:
            await endpoint.close()
        truths = await _truths(shared, url)
    return _late(ours, truths), _late(bare, truths)


def _late(seen: Mapping[str, float], truths: Mapping[str, float]) -> list[float]:
    return [(seconds - truths[request]) * 1e3 for request, seconds in seen.items()]


async def _together(calls: Sequence[Coroutine[object, object, Answer]]) -> list[Answer]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]


async def _ask_bare(shared: httpx.AsyncClient, policy: ConnectionPolicy, url: str, text: str) -> BareAnswer:
    if policy is ConnectionPolicy.SHARED:
        return await ask(shared, url, text)
    async with bare_client() as fresh:
        return await ask(fresh, url, text)


def _seconds(observation: Observation) -> float:
    if observation.timeline.first_token is None:
        raise AssertionError(f"the lab sent no token: {observation}")
    return observation.timeline.first_token


async def _truths(client: httpx.AsyncClient, url: str) -> dict[str, float]:
    """First content handed to the socket, minus the request's last byte, by request id."""
    response = await client.get(f"{url}/lab/records")
    return {
        record["request_id"]: record["first_content"] - record["body_received"]
        for record in response.json()["records"]
        if record["first_content"] is not None
    }
