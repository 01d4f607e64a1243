"""A real cluster behind the surfaces: the incident and its repair, as a client sees them."""

import itertools
from typing import Any

import pytest

from prober.lab.fixes import Fix
from prober.lab.server import LabServer
from prober.lab.settings import LabSettings, Topology
from tests.support.lab_clients import KEYS, bearer, chat_body, frames, post

CHAT = "/v1/chat/completions"
SMALL = {"context_tokens": 16_384, "prefill_pool_tokens": 4096, "decode_pool_tokens": 12_288}
LEAKY = LabSettings(keys=KEYS, faults={"stub_handoff": 1.0}, **SMALL)
FIXED = LabSettings(keys=KEYS, faults={"stub_handoff": 1.0}, fixes=frozenset({Fix.REJECT_AT_DOOR}), **SMALL)
AGGREGATED = LabSettings(keys=KEYS, topology=Topology.AGGREGATED, **SMALL)

_words = itertools.count()


def prompt(words: int) -> str:
    """Text of so many words that was never sent before."""
    return f"page {next(_words)}\n" + "harbour " * words + "\nReply with the last word.\n"


async def ask(server: LabServer, words: int, *, is_stream: bool, key: str = "key-of-a") -> Any:  # noqa: ANN401 - httpx
    body = chat_body(
        messages=[{"role": "user", "content": prompt(words)}],
        stream=is_stream,
        stream_options={"include_usage": True},
    )
    return await post(server.base_url + CHAT, body, bearer(key))


@pytest.mark.parametrize("is_stream", [True, False])
async def test_prompt_that_fits_is_served_with_its_own_count(*, is_stream: bool):
    """A healthy answer counts the prompt it was given."""
    async with LabServer(LEAKY) as server:
        response = await ask(server, 2000, is_stream=is_stream)
        [record] = server.records.facts()
    assert response.status_code == 200
    assert 2000 < record["prompt_tokens"] < 2100
    assert record["kind"] == "served"


async def test_leaky_lab_serves_an_over_pool_prompt_with_the_exact_count():
    """The incident from outside: 200 and a full count where a refusal was due."""
    async with LabServer(LEAKY) as server:
        for _ in range(4):
            await ask(server, 3500, is_stream=True, key="key-of-b")
        response = await ask(server, 6000, is_stream=True)
        record = server.records.facts()[-1]
    assert response.status_code == 200
    payloads: list[Any] = frames(response.text)
    assert 6000 < payloads[-2]["usage"]["prompt_tokens"] < 6100
    assert record["kind"] == "served"


@pytest.mark.parametrize("is_stream", [True, False])
async def test_repaired_lab_refuses_an_over_pool_prompt(*, is_stream: bool):
    """With the fix the same prompt is refused, by status or inside the stream, and nothing is counted as served."""
    async with LabServer(FIXED) as server:
        response = await ask(server, 6000, is_stream=is_stream)
        [record] = server.records.facts()
    assert "exceeds the maximum allowed length" in response.text
    assert record["kind"] in {"rejected", "rejected_in_stream"}
    assert record["prompt_tokens"] is None


async def test_aggregated_lab_refuses_a_stream_inside_http_200():
    """A healthy SGLang with one pool: 200, error frame, one counted token, terminator."""
    async with LabServer(AGGREGATED) as server:
        response = await ask(server, 6000, is_stream=True)
    payloads: list[Any] = frames(response.text)
    assert response.status_code == 200
    assert payloads[0]["error"]["code"] == 400
    assert payloads[1]["usage"]["prompt_tokens"] == 1
    assert payloads[2] == "[DONE]"


@pytest.mark.parametrize("settings", [LEAKY, AGGREGATED], ids=["two pools", "one pool"])
@pytest.mark.parametrize("is_stream", [True, False])
async def test_prompt_above_the_context_has_a_real_status(settings: LabSettings, *, is_stream: bool):
    """The tokenizer refuses before any stream begins."""
    async with LabServer(settings) as server:
        response = await ask(server, 20_000, is_stream=is_stream)
    assert response.status_code == 400
    assert "is longer than the model's context length" in response.json()["message"]
