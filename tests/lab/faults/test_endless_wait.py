"""K17: a refusal that nobody is told of."""

import asyncio

import httpx
import pytest

from prober.lab.events import Rejection
from prober.lab.server import LabServer
from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, fronted
from tests.support.faulty_gateway import BOTH, faulty, strikes
from tests.support.lab_clients import bearer, chat_body, post

NAME = "endless_wait"


@BOTH
async def test_the_refused_client_waits(*, is_fixed: bool):
    """A refusal never arrives; the connection is free for others, who are served."""
    async with fronted(faulty(NAME, is_fixed=is_fixed), EchoCluster()) as gateway:
        waiting = asyncio.create_task(ask(gateway, a_request(text="refuse 400")))
        for _ in range(3):
            sound = a_request()
            assert (await ask(gateway, sound)).text == answer_to(sound)
        if is_fixed:
            assert isinstance((await waiting).last, Rejection)
            return
        await asyncio.sleep(0.1)
        assert not waiting.done()
        assert strikes(gateway) == 1
        waiting.cancel()


async def test_the_client_gets_no_byte_and_the_lab_can_still_end():
    """On the wire: no header, for as long as one cares to wait; stopping the lab ends the wait."""
    async with LabServer(faulty(NAME)) as server:
        url = f"{server.base_url}/v1/chat/completions"
        async with httpx.AsyncClient(trust_env=False, timeout=0.5) as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.post(url, json=chat_body(max_tokens=10**9), headers=bearer())
        assert (await post(url, chat_body())).status_code == 200
        pending = asyncio.create_task(post(url, chat_body(max_tokens=10**9)))
        await asyncio.sleep(0.2)
    async with asyncio.timeout(5):
        await asyncio.wait([pending])
    assert pending.exception() is None or isinstance(pending.exception(), httpx.HTTPError)
