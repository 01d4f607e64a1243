"""OpenAI-compatible surfaces over a real socket."""

import asyncio
from typing import Any

import pytest

from prober.lab.events import Chunk, Done, Stage
from prober.lab.server import LabServer
from prober.lab.settings import LabSettings
from prober.lab.surfaces.settings import SurfaceSettings
from tests.support.lab_clients import KEYS, bearer, chat_body, frames, post
from tests.support.scripted_cluster import (
    ANSWER,
    SCHEDULER_TEXT,
    TOKENIZER_TEXT,
    ScriptedCluster,
    Step,
    rejection,
)

CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


def lab(script: tuple[Step, ...] = ANSWER, **surfaces: object) -> LabServer:
    return LabServer(LabSettings(keys=KEYS), SurfaceSettings(**surfaces), cluster=ScriptedCluster(script))


def deltas(payloads: list[Any]) -> list[dict[str, Any]]:
    return [payload["choices"][0]["delta"] for payload in payloads if payload != "[DONE]" and payload["choices"]]


async def test_chat_stream_has_role_deltas_finish_usage_and_terminator_in_order():
    """A stream is: role with empty content, deltas by channel, finish reason, usage when asked for, [DONE]."""
    async with lab() as server:
        body = chat_body(stream=True, stream_options={"include_usage": True})
        response = await post(server.base_url + CHAT, body)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    payloads: list[Any] = frames(response.text)
    assert payloads[-1] == "[DONE]"
    assert [delta.get("content") for delta in deltas(payloads)] == ["", None, "red ", "fox", None]
    assert deltas(payloads)[0]["role"] == "assistant"
    assert deltas(payloads)[1]["reasoning_content"] == "let me see "
    assert payloads[-3]["choices"][0]["finish_reason"] == "stop"
    assert payloads[-2]["choices"] == []
    assert payloads[-2]["usage"] == {
        "prompt_tokens": 17,
        "completion_tokens": 4,
        "total_tokens": 21,
        "prompt_tokens_details": None,
        "reasoning_tokens": 2,
    }
    assert all(payload["usage"] is None for payload in payloads[:-2])


async def test_chat_stream_without_include_usage_has_no_usage():
    """Usage is opt-in on a stream: a client that did not ask must cope without."""
    async with lab() as server:
        response = await post(server.base_url + CHAT, chat_body(stream=True))
    payloads: list[Any] = frames(response.text)
    assert all(payload["usage"] is None for payload in payloads[:-1])
    assert payloads[-2]["choices"][0]["finish_reason"] == "stop"


async def test_whole_chat_answer_is_one_object_with_both_channels():
    """Without `stream`, content, reasoning, finish reason and usage stand in one JSON object."""
    async with lab() as server:
        response = await post(server.base_url + CHAT, chat_body())
    answer = response.json()
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"]["content"] == "red fox"
    assert answer["choices"][0]["message"]["reasoning_content"] == "let me see "
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["total_tokens"] == 21


async def test_cached_tokens_are_reported_only_when_there_are_some():
    """Missing is not zero: the details are null for nothing cached, as at SGLang, and an object otherwise."""
    done = Done(finish_reason="length", prompt_tokens=9, completion_tokens=1, cached_tokens=5)
    async with lab((Chunk(content="x"), done)) as server:
        response = await post(server.base_url + CHAT, chat_body())
    assert response.json()["usage"]["prompt_tokens_details"] == {"cached_tokens": 5}


async def test_answer_of_no_text_still_opens_finishes_and_terminates():
    """A generation without a token is a stream with role, finish and terminator, not a broken one."""
    done = Done(finish_reason="length", prompt_tokens=9, completion_tokens=0)
    async with lab((done,)) as server:
        response = await post(server.base_url + CHAT, chat_body(stream=True))
    payloads: list[Any] = frames(response.text)
    assert [delta.get("content") for delta in deltas(payloads)] == ["", None]
    assert payloads[-1] == "[DONE]"


async def test_text_completion_streams_and_answers_whole():
    """Text completions carry `text` choices in both modes, without a role frame."""
    prompt = {"prompt": "Say red fox.", "max_tokens": 8}
    async with lab() as server:
        whole = await post(server.base_url + COMPLETIONS, prompt)
        stream = await post(
            server.base_url + COMPLETIONS, {**prompt, "stream": True, "stream_options": {"include_usage": True}}
        )
    assert whole.json()["object"] == "text_completion"
    assert whole.json()["choices"][0]["text"] == "let me see red fox"
    payloads: list[Any] = frames(stream.text)
    assert [p["choices"][0]["text"] for p in payloads[:-2]] == ["let me see ", "red ", "fox", ""]
    assert payloads[-2]["usage"]["prompt_tokens"] == 17
    assert payloads[-1] == "[DONE]"


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
async def test_scheduler_refusal_of_a_stream_is_200_with_an_error_frame(path: str):
    """A healthy SGLang refuses an over-pool prompt inside HTTP 200, then counts one prompt token, then ends."""
    body = chat_body(prompt="x", stream=True, stream_options={"include_usage": True})
    async with lab((rejection(Stage.SCHEDULER),)) as server:
        response = await post(server.base_url + path, body)
    assert response.status_code == 200
    payloads: list[Any] = frames(response.text)
    assert payloads[0] == {
        "error": {
            "object": "error",
            "message": SCHEDULER_TEXT,
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        }
    }
    assert payloads[1]["usage"]["prompt_tokens"] == 1
    assert payloads[2:] == ["[DONE]"]


async def test_scheduler_refusal_without_usage_is_error_frame_and_terminator():
    """Nobody asked for usage: the error frame and [DONE] alone remain."""
    async with lab((rejection(Stage.SCHEDULER),)) as server:
        response = await post(server.base_url + CHAT, chat_body(stream=True))
    payloads = frames(response.text)
    assert len(payloads) == 2
    assert payloads[1] == "[DONE]"


@pytest.mark.parametrize(
    ("stage", "is_stream", "status", "message"),
    [
        (Stage.SCHEDULER, False, 400, SCHEDULER_TEXT),
        (Stage.TOKENIZER, False, 400, TOKENIZER_TEXT),
        (Stage.TOKENIZER, True, 400, TOKENIZER_TEXT),
    ],
)
async def test_engine_refusals_with_a_status_are_flat(stage: Stage, *, is_stream: bool, status: int, message: str):
    """SGLang's own error body is flat with an integer code; the tokenizer refuses streams with a real status."""
    async with lab((rejection(stage, status, message),)) as server:
        response = await post(server.base_url + CHAT, chat_body(stream=is_stream))
    assert response.status_code == status
    assert response.json() == {
        "object": "error",
        "message": message,
        "type": "BadRequestError",
        "param": None,
        "code": status,
    }


@pytest.mark.parametrize("is_stream", [True, False])
async def test_router_refusal_has_its_own_status_and_a_nested_body(*, is_stream: bool):
    """What the router decides is its own status, streamed or not, nested under `error`."""
    async with lab((rejection(Stage.ROUTER, 500, "decode gave up"),)) as server:
        response = await post(server.base_url + CHAT, chat_body(stream=is_stream))
    assert response.status_code == 500
    assert response.json() == {"error": {"message": "decode gave up", "type": "InternalServerError", "code": 500}}


async def test_failure_after_text_is_an_error_frame_in_the_running_stream():
    """Once text has gone out, even a router's failure can only be an error frame."""
    async with lab((Chunk(content="red "), rejection(Stage.ROUTER, 500, "lost"))) as server:
        response = await post(server.base_url + CHAT, chat_body(stream=True))
    payloads: list[Any] = frames(response.text)
    assert response.status_code == 200
    assert payloads[1]["choices"][0]["delta"]["content"] == "red "
    assert payloads[2]["error"]["code"] == 500
    assert payloads[3] == "[DONE]"


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic key-of-a"}])
async def test_wrong_key_is_401_as_at_sglang(headers: dict[str, str]):
    """A missing, unknown or wrongly presented key gets SGLang's 401 body, and the cluster is not asked."""
    cluster = ScriptedCluster()
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        response = await post(server.base_url + CHAT, chat_body(), headers)
    assert response.status_code == 401
    assert response.json() == {"error": "Unauthorized"}
    assert cluster.requests == []


async def test_keys_are_tenants_and_fields_reach_the_cluster():
    """The key names the tenant; sizes, temperature, messages and mode arrive as sent; any LLM name is served."""
    cluster = ScriptedCluster()
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Say "}, {"type": "text", "text": "fox."}]},
    ]
    body = {"model": "any", "messages": messages, "max_completion_tokens": 5, "temperature": 0.5, "stream": True}
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        response = await post(server.base_url + CHAT, body, bearer("key-of-b"))
    assert response.status_code == 200
    [request] = cluster.requests
    assert request.tenant == "tenant-b"
    assert request.messages == (("system", "Be brief."), ("user", "Say fox."))
    assert (request.max_tokens, request.temperature, request.stream) == (5, 0.5, True)


async def test_request_id_is_echoed_but_never_names_a_generation():
    """Two clients with one X-Request-Id must get two generations: colliding ids leak at a real server."""
    cluster = ScriptedCluster()
    headers = {**bearer(), "x-request-id": "same"}
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        first = await post(server.base_url + CHAT, chat_body(), headers)
        second = await post(server.base_url + CHAT, chat_body(), headers)
    assert first.headers["x-request-id"] == second.headers["x-request-id"] == "same"
    assert first.json()["id"] != second.json()["id"]
    assert len({request.request_id for request in cluster.requests}) == 2


async def test_body_above_the_limit_is_the_proxys_413():
    """A body limit belongs to a proxy: its page says nothing about tokens, and arrives although the body is large."""
    content = "x " * 500_000
    async with lab(max_body_bytes=600_000) as server:
        response = await post(server.base_url + CHAT, chat_body(messages=[{"role": "user", "content": content}]))
    assert response.status_code == 413
    assert response.headers["content-type"].startswith("text/html")
    assert "token" not in response.text


async def test_body_of_six_megabytes_arrives_whole():
    """A prompt of a million words passes through unchanged."""
    cluster = ScriptedCluster()
    content = "word " * 1_200_000
    async with LabServer(LabSettings(keys=KEYS), cluster=cluster) as server:
        response = await post(server.base_url + CHAT, chat_body(messages=[{"role": "user", "content": content}]))
        [record] = server.records.facts()
    assert response.status_code == 200
    assert cluster.requests[0].messages[0][1] == content
    assert isinstance(record["body_bytes"], int)
    assert record["body_bytes"] > 6_000_000


async def test_headers_come_with_the_first_output_and_not_before():
    """SGLang's habit: a client waiting for headers waits for the prefill."""
    gate = asyncio.Event()
    async with lab((gate, *ANSWER)) as server:
        pending = asyncio.create_task(post(server.base_url + CHAT, chat_body(stream=True)))
        for _ in range(200):
            await asyncio.sleep(0.005)
            if server.records.facts():
                break
        await asyncio.sleep(0.05)
        [before] = server.records.facts()
        gate.set()
        response = await pending
    assert before["status"] is None
    assert response.status_code == 200
