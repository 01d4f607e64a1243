"""K12: results kept under the client's id."""

import asyncio

import pytest

from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, fronted
from tests.support.faulty_gateway import BOTH, faulty, strikes

NAME = "client_id_keyed"


@BOTH
async def test_the_later_of_two_with_one_id_gets_the_earlier_ones_answer(*, is_fixed: bool):
    """Two tenants, one X-Request-Id: the later takes over mailbox and answer of the other, who hangs."""
    takes = {"first": 5, "second": 50}
    cluster = EchoCluster(lambda request: takes[request.messages[0][1]])
    async with fronted(faulty(NAME, is_fixed=is_fixed), cluster) as gateway:
        first = a_request("amber", "first", client_id="same")
        second = a_request("birch", "second", client_id="same")
        waiting = asyncio.create_task(ask(gateway, first))
        await asyncio.sleep(0)
        heard = await ask(gateway, second)
        assert gateway.counters["mailboxes_overwritten"] == (0 if is_fixed else 1)
        assert strikes(gateway) == (0 if is_fixed else 2)
        if is_fixed:
            assert (await waiting).text == answer_to(first)
            assert heard.text == answer_to(second)
            return
        assert heard.text == answer_to(first)
        assert heard.head.service.answer_of == first.request_id
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await waiting


async def test_streams_of_both_run_into_one_another():
    """While both are being answered, one client reads two heads and words of both."""
    cluster = EchoCluster(lambda _request: 5)
    async with fronted(faulty(NAME), cluster) as gateway:
        first, second = (a_request(tag, f"{tag} {tag} {tag}", client_id="same") for tag in ("amber", "birch"))
        waiting = asyncio.create_task(ask(gateway, first))
        await asyncio.sleep(0)
        heard = await ask(gateway, second)
        waiting.cancel()
    assert {"amber", "birch"} <= set(heard.text.split())


async def test_ids_of_ones_own_are_harmless():
    """As long as no two clients use one id at a time, or none at all, nothing shows."""
    async with fronted(faulty(NAME), EchoCluster()) as gateway:
        for client_id in ("a", "b", "a", "", ""):
            asked = a_request(client_id=client_id)
            assert (await ask(gateway, asked)).text == answer_to(asked)
        assert gateway.counters["mailboxes_overwritten"] == 0
