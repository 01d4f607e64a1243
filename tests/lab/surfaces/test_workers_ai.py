"""Workers AI surfaces over a real socket."""

from typing import Any

import pytest

from prober.lab.events import Chunk, Done, Stage
from prober.lab.server import LabServer
from prober.lab.settings import LabSettings
from prober.lab.surfaces.settings import NativeShape, SurfaceSettings
from tests.support.lab_clients import KEYS, chat_body, frames, post
from tests.support.scripted_cluster import ANSWER, SCHEDULER_TEXT, ScriptedCluster, Step, rejection

MODEL = "@cf/zai-org/glm-5.3"
ACCOUNT = "/client/v4/accounts/0123456789abcdef/ai"
NATIVE = f"{ACCOUNT}/run/{MODEL}"
COMPATIBLE = f"{ACCOUNT}/v1/chat/completions"


def lab(script: tuple[Step, ...] = ANSWER, *, context_tokens: int = 1_048_576, **surfaces: object) -> LabServer:
    settings = LabSettings(keys=KEYS, model=MODEL, context_tokens=context_tokens)
    return LabServer(settings, SurfaceSettings(**surfaces), cluster=ScriptedCluster(script))


def body(**fields: object) -> dict[str, object]:
    return {**chat_body(**fields), "model": fields.get("model", MODEL)}


def only_error(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["success"] is False
    assert answer["result"] is None
    [error] = answer["errors"]
    return error


async def test_native_whole_answer_stands_in_the_envelope():
    """A chat object is the `result` of an envelope that says success."""
    async with lab() as server:
        response = await post(server.base_url + NATIVE, body())
    answer = response.json()
    assert (answer["success"], answer["errors"], answer["messages"]) == (True, [], [])
    assert answer["result"]["choices"][0]["message"]["content"] == "red fox"
    assert answer["result"]["usage"]["prompt_tokens"] == 17


async def test_native_stream_is_not_enveloped_and_always_has_usage():
    """OpenAI-shaped frames, usage without having been asked for, terminator."""
    async with lab() as server:
        response = await post(server.base_url + NATIVE, body(stream=True))
    payloads: list[Any] = frames(response.text)
    assert payloads[0]["object"] == "chat.completion.chunk"
    assert payloads[-2]["usage"]["prompt_tokens"] == 17
    assert payloads[-1] == "[DONE]"


async def test_native_legacy_shape_streams_and_answers_whole():
    """Legacy answers hold `response` and usage; reasoning has no channel there."""
    async with lab(native_shape=NativeShape.LEGACY) as server:
        whole = await post(server.base_url + NATIVE, body())
        stream = await post(server.base_url + NATIVE, body(stream=True))
    assert whole.json()["result"]["response"] == "red fox"
    assert whole.json()["result"]["usage"]["completion_tokens"] == 4
    payloads: list[Any] = frames(stream.text)
    assert [payload["response"] for payload in payloads[:-1]] == ["red ", "fox", ""]
    assert payloads[-2]["usage"]["prompt_tokens"] == 17
    assert payloads[-1] == "[DONE]"


async def test_reasoning_alone_is_no_first_content_in_the_legacy_shape():
    """The record's first content is the first text that went out, and reasoning does not go out here."""
    done = Done(finish_reason="length", prompt_tokens=5, completion_tokens=1)
    async with lab((Chunk(reasoning="hm"), done), native_shape=NativeShape.LEGACY) as server:
        await post(server.base_url + NATIVE, body(stream=True))
        [record] = server.records.facts()
    assert record["first_content"] is None
    assert record["kind"] == "served"


async def test_native_may_answer_json_although_a_stream_was_asked_for():
    """Some LLMs there ignore `stream: true`; the cluster is then asked for a whole answer too."""
    cluster = ScriptedCluster()
    surfaces = SurfaceSettings(ignores_stream=True)
    async with LabServer(LabSettings(keys=KEYS, model=MODEL), surfaces, cluster=cluster) as server:
        response = await post(server.base_url + NATIVE, body(stream=True))
    assert response.headers["content-type"] == "application/json"
    assert response.json()["result"]["choices"][0]["message"]["content"] == "red fox"
    assert cluster.requests[0].stream is False


async def test_native_takes_a_plain_prompt():
    """`prompt` replaces `messages`, and output is bounded by the documented default of 256."""
    cluster = ScriptedCluster()
    async with LabServer(LabSettings(keys=KEYS, model=MODEL), cluster=cluster) as server:
        await post(server.base_url + NATIVE, {"prompt": "Say red fox."})
    assert cluster.requests[0].messages == (("user", "Say red fox."),)
    assert cluster.requests[0].max_tokens == 256


async def test_native_names_the_llm_in_the_path_and_ignores_the_bodys():
    """Another name in the path is refused with 5007, another in the body is ignored."""
    async with lab() as server:
        unknown = await post(f"{server.base_url}{ACCOUNT}/run/@cf/other/llm", body())
        known = await post(server.base_url + NATIVE, body(model="other"))
    assert unknown.status_code == 400
    assert only_error(unknown.json())["code"] == 5007
    assert known.status_code == 200


async def test_native_refusal_is_an_envelope_with_the_engines_words():
    """The engine's text passes through, prefixed twice and followed by an id, in an envelope without success."""
    async with lab((rejection(Stage.TOKENIZER),)) as server:
        response = await post(server.base_url + NATIVE, body(stream=True))
    assert response.status_code == 400
    message = only_error(response.json())["message"]
    assert message.startswith(f"AiError: AiError: {SCHEDULER_TEXT} (")
    assert message.endswith(")")


@pytest.mark.parametrize("shape", list(NativeShape))
async def test_native_scheduler_refusal_of_a_stream_is_an_error_frame(shape: NativeShape):
    """Both shapes carry the engine's error frame, the stub's usage and the terminator inside HTTP 200."""
    async with lab((rejection(Stage.SCHEDULER),), native_shape=shape) as server:
        response = await post(server.base_url + NATIVE, body(stream=True))
    assert response.status_code == 200
    payloads: list[Any] = frames(response.text)
    assert payloads[0]["error"]["message"] == SCHEDULER_TEXT
    assert payloads[1]["usage"]["prompt_tokens"] == 1
    assert payloads[2] == "[DONE]"


@pytest.mark.parametrize("shape", list(NativeShape))
async def test_native_server_fault_is_an_envelope_with_its_status(shape: NativeShape):
    """A server's fault keeps its status and gets the internal code."""
    async with lab((rejection(Stage.ROUTER, 500, "lost"),), native_shape=shape) as server:
        response = await post(server.base_url + NATIVE, body())
    assert response.status_code == 500
    assert only_error(response.json())["code"] == 3043


async def test_compatible_answers_without_an_envelope():
    """The OpenAI-compatible surface answers bare chat objects in both modes."""
    async with lab() as server:
        whole = await post(server.base_url + COMPATIBLE, body())
        stream = await post(server.base_url + COMPATIBLE, body(stream=True))
    assert whole.json()["choices"][0]["message"]["content"] == "red fox"
    payloads: list[Any] = frames(stream.text)
    assert payloads[-2]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(("status", "code"), [(400, "invalid_prompt"), (500, "server_error")])
async def test_compatible_errors_have_string_codes_and_aierror_prefixes(status: int, code: str):
    """Errors stand under `error` with a string code, the engine's words prefixed and marked with an id."""
    async with lab((rejection(Stage.TOKENIZER, status, "too long"),)) as server:
        response = await post(server.base_url + COMPATIBLE, body())
    assert response.status_code == status
    error = response.json()["error"]
    assert error["code"] == code
    assert error["message"].startswith("AiError: AiError: too long (")


async def test_compatible_refuses_other_llms():
    """The LLM stands in the body; any other name, or none, is 5007."""
    async with lab() as server:
        response = await post(server.base_url + COMPATIBLE, body(model="other"))
    assert only_error(response.json())["code"] == 5007


@pytest.mark.parametrize("path", [NATIVE, COMPATIBLE])
async def test_front_door_refusals_are_envelopes(path: str):
    """Wrong token, bad fields and too many bytes are Cloudflare's own errors, not the engine's."""
    async with lab(max_body_bytes=1000) as server:
        unauthorised = await post(server.base_url + path, body(), {})
        invalid = await post(server.base_url + path, body(messages=[]))
        large = await post(server.base_url + path, body(messages=[{"role": "user", "content": "x" * 2000}]))
    assert (unauthorised.status_code, only_error(unauthorised.json())["code"]) == (401, 10000)
    assert (invalid.status_code, only_error(invalid.json())["code"]) == (400, 5004)
    assert (large.status_code, only_error(large.json())["code"]) == (413, 3006)


@pytest.mark.parametrize("path", [NATIVE, COMPATIBLE])
async def test_estimate_door_refuses_before_the_cluster_is_asked(path: str):
    """Where the classic door is on, an estimate of input plus `max_tokens` above the context is 413 with 3010."""
    async with lab(context_tokens=1024, has_estimate_door=True) as server:
        over = await post(server.base_url + path, body(max_tokens=1100))
        within = await post(server.base_url + path, body(max_tokens=8))
    assert (over.status_code, only_error(over.json())["code"]) == (413, 3010)
    assert "(1103)" in only_error(over.json())["message"]
    assert "(1024)" in only_error(over.json())["message"]
    assert within.status_code == 200
