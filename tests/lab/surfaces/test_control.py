"""Control routes."""

import asyncio

import httpx
import pytest

from prober.lab.server import LabServer
from prober.lab.settings import LabSettings
from prober.lab.surfaces.app import build_app
from tests.support.cluster import SMALL
from tests.support.echo_cluster import EchoCluster
from tests.support.lab_clients import KEYS, chat_body, get, post


async def test_a_rollout_restarts_every_cluster():
    """It says how many, the lab serves before and after, and the counters go on."""
    cluster = EchoCluster()
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        before = await post(f"{server.base_url}/v1/chat/completions", chat_body())
        rollout = await post(f"{server.base_url}/lab/rollout", {}, {})
        after = await post(f"{server.base_url}/v1/chat/completions", chat_body())
        counters = (await get(f"{server.base_url}/lab/records", {})).json()
    assert (rollout.status_code, rollout.json()) == (200, {"restarted": 1})
    assert cluster.starts == 2
    assert (before.status_code, after.status_code) == (200, 200)
    assert counters["gateway"]["restarts"] == 1


async def test_a_rollout_of_a_real_cluster_leaves_it_serving():
    """The route replaces a cluster of the lab's own building, too."""
    async with LabServer(SMALL) as server:
        for _ in range(2):
            response = await post(f"{server.base_url}/lab/rollout", {})
            assert response.json() == {"restarted": 1}
            answer = await post(f"{server.base_url}/v1/chat/completions", chat_body())
            assert answer.status_code == 200


async def test_a_rollout_must_be_posted():
    """Looking at the route changes nothing."""
    cluster = EchoCluster()
    async with LabServer(LabSettings(), cluster=cluster) as server:
        assert (await get(f"{server.base_url}/lab/rollout")).status_code == 405
    assert cluster.starts == 1


@pytest.mark.parametrize(("client", "status"), [(("10.1.2.3", 5), 403), (("127.0.0.1", 5), 200), (None, 403)])
async def test_control_is_for_this_machine_alone(client: tuple[str, int] | None, status: int):
    """Also a lab that serves a network is controlled from its own machine only."""
    server = LabServer(LabSettings(), host="0.0.0.0", allow_remote=True, cluster=EchoCluster())
    transport = httpx.ASGITransport(build_app(server._context), client=client or ("", 0))
    async with asyncio.timeout(5), httpx.AsyncClient(transport=transport, base_url="http://lab") as http:
        response = await http.post("/lab/rollout")
    assert response.status_code == status
