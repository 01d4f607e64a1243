"""Bursts of 429, at the gateway and on the wire."""

import asyncio
import dataclasses

import pytest

from prober.lab.events import Chunk, Rejection
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.scenes import stage_scene
from prober.lab.server import LabServer
from prober.lab.settings import LabSettings
from tests.support.cluster import SMALL
from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, fronted
from tests.support.lab_clients import KEYS, chat_body, post


def limited(rate: float, seconds: float = 0.0, seed: int = 0) -> LabSettings:
    gateway = GatewaySettings(burst_rate=rate, burst_seconds=seconds, cached_responses=10)
    return dataclasses.replace(SMALL, time_scale=0.01, gateway=gateway, seed=seed)


async def statuses(settings: LabSettings, requests: int) -> list[int]:
    async with fronted(settings, EchoCluster()) as gateway:
        heard = [await ask(gateway, a_request(text=f"hello {number}")) for number in range(requests)]
    return [each.last.status if isinstance(each.last, Rejection) else 200 for each in heard]


async def test_a_burst_refuses_everyone_and_ends():
    """During a burst each tenant's request is refused before any backend sees it, with a time to come again."""
    cluster = EchoCluster()
    async with fronted(limited(0.999, seconds=20.0), cluster) as gateway:
        refused = [await ask(gateway, a_request(tenant)) for tenant in ("amber", "birch")]
        assert gateway.counters["rate_limit_bursts"] == 1
        assert gateway.counters["rate_limited"] == 2
        assert not cluster.requests
        await asyncio.sleep(0.25)
        await ask(gateway, a_request())
        assert gateway.counters["rate_limit_bursts"] == 2
    for heard in refused:
        assert isinstance(heard.last, Rejection)
        assert heard.last.status == 429
        assert heard.head.headers == {"retry-after": "1"}
        assert not heard.text


@pytest.mark.no_coverage
async def test_bursts_begin_at_their_rate_and_repeat_by_seed():
    """The same seed refuses the same requests; what is not refused is answered as ever."""
    first = await statuses(limited(0.1, seed=4), 400)
    assert set(first) == {200, 429}
    assert 20 <= first.count(429) <= 65
    assert await statuses(limited(0.1, seed=4), 400) == first
    assert await statuses(limited(0.1, seed=5), 400) != first


async def test_a_refusal_is_not_kept_in_the_response_cache():
    """The same prompt is answered once the burst is over."""
    settings = limited(0.5, seed=1)
    async with fronted(settings, EchoCluster()) as gateway:
        asked = [a_request() for _ in range(30)]
        heard = [await ask(gateway, each) for each in asked]
    served = [(each, text) for each, text in zip(heard, map(answer_to, asked), strict=True) if each.text]
    assert 5 < len(served) < 25
    assert all(each.text == text for each, text in served)
    assert all(not isinstance(event, Chunk) for each in heard if not each.text for event in each.events)


@pytest.mark.parametrize("is_stream", [True, False])
async def test_the_client_is_answered_429_with_retry_after(*, is_stream: bool):
    """On the wire: a status of its own, also for streams, `Retry-After` in whole seconds, an error object; counted."""
    gateway = GatewaySettings(burst_rate=0.999, burst_seconds=1e5)
    settings = dataclasses.replace(stage_scene("small"), keys=KEYS, gateway=gateway)
    async with LabServer(settings) as server:
        response = await post(f"{server.base_url}/v1/chat/completions", chat_body(stream=is_stream))
        counters = server.counters()
        [record] = server.records.facts()
    assert response.status_code == 429
    assert 300 <= int(response.headers["retry-after"]) <= 334
    assert response.json()["error"]["code"] == 429
    assert counters["rate_limited"] == counters["rate_limit_bursts"] == 1
    assert record["kind"] == "rejected"


def test_a_gateway_refuses_nobody_by_default():
    """Bursts come only where they are switched on."""
    assert GatewaySettings().burst_rate == 0.0
