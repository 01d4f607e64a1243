"""K17: an error without a word."""

import pytest

from prober.lab.events import Rejection, Severed
from prober.lab.server import LabServer
from tests.support.echo_cluster import EchoCluster, a_request, answer_to, ask, fronted
from tests.support.faulty_gateway import BOTH, faulty, strikes
from tests.support.lab_clients import chat_body, post

NAME = "swallowed_error"


@BOTH
async def test_a_refusal_becomes_an_answer_that_ends(*, is_fixed: bool):
    """Whatever the backend refused: the client is told nothing."""
    async with fronted(faulty(NAME, is_fixed=is_fixed), EchoCluster()) as gateway:
        heard = await ask(gateway, a_request(text="refuse 400"))
        assert strikes(gateway) == (0 if is_fixed else 1)
        sound = a_request()
        assert (await ask(gateway, sound)).text == answer_to(sound)
        assert strikes(gateway) == (0 if is_fixed else 1)
    assert isinstance(heard.last, Rejection if is_fixed else Severed)


@BOTH
@pytest.mark.parametrize("is_stream", [True, False])
async def test_the_client_sees_success(*, is_stream: bool, is_fixed: bool):
    """On the wire: 200 with nothing in it, where a 400 was due."""
    body = chat_body(max_tokens=10**9, stream=is_stream)
    async with LabServer(faulty(NAME, is_fixed=is_fixed)) as server:
        response = await post(f"{server.base_url}/v1/chat/completions", body)
        records = server.records.facts()
    assert response.status_code == (400 if is_fixed else 200)
    assert "[DONE]" not in response.text
    assert ("error" in response.text) is is_fixed
    assert records[0]["kind"] == ("rejected" if is_fixed else "severed")
