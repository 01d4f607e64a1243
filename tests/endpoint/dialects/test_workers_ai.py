"""Workers AI's native endpoint."""

import json

import pytest

from prober.domain.observation import Refusal, RefusalReason, Usage
from prober.endpoint.dialects.workers_ai import WORKERS_AI
from prober.endpoint.frame import Frame


def enveloped(answer: object, **fields: object) -> bytes:
    return json.dumps({"result": answer, "success": True, "errors": [], "messages": [], **fields}).encode()


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("@cf/zai-org/glm-5.3", "/ai/run/@cf/zai-org/glm-5.3"),
        ("a b?c#d", "/ai/run/a%20b%3Fc%23d"),
        ("é", "/ai/run/%C3%A9"),
    ],
)
def test_the_llm_stands_in_the_path(model: str, path: str):
    """The LLM's name is percent-encoded, its slashes and at sign kept."""
    assert WORKERS_AI.path(model) == path


def test_requests_ask_to_be_refused_rather_than_queued():
    """Queueing would stretch the timings that the prefill floor is made of."""
    body = json.loads(WORKERS_AI.body("glm", "hi", max_output_tokens=8, temperature=0.0, stream=True, extra={}))

    assert body == {
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 8,
        "temperature": 0.0,
        "stream": True,
        "options": {"rejectIfBusy": True},
    }


@pytest.mark.parametrize(
    ("data", "frame"),
    [
        ({"response": "tok", "p": "abc"}, Frame(content="tok")),
        ({"response": ""}, Frame()),
        ({"response": None, "tool_calls": []}, Frame()),
        ({"response": 7}, Frame(content="7")),
        ({"response": "", "usage": {"prompt_tokens": 9}}, Frame(usage=Usage(prompt_tokens=9))),
        ({"response": "", "finish_reason": "stop"}, Frame(finish_reason="stop")),
        ({"tool_calls": [{"name": "f", "arguments": {"q": 1}}]}, Frame(content='f{"q": 1}', tool=True)),
        ({"choices": [{"delta": {"content": "tok"}}]}, Frame(content="tok")),
        ({"choices": [{"delta": {"content": "tok"}}], "response": "tok"}, Frame(content="tok")),
        ({"choices": [{"delta": {"role": "assistant", "content": ""}}]}, Frame()),
    ],
)
def test_both_stream_shapes(data: dict[str, object], frame: Frame):
    """Legacy and OpenAI frames are told apart one by one."""
    assert WORKERS_AI.frame(json.dumps(data).encode(), "") == frame


@pytest.mark.parametrize(
    ("data", "event", "code"),
    [
        (b'{"success":false,"result":null,"errors":[{"code":3040,"message":"x"}]}', "", "3040"),
        (b'{"response":"","error":{"code":3040}}', "", "3040"),
        (b'{"response":"","message":"3040: x"}', "error", "3040"),
        (b'{"error":"3040: AiError: Capacity temporarily exceeded"}', "", "3040"),
    ],
)
def test_error_frames(data: bytes, event: str, code: str):
    """Envelopes, error objects and error events inside a stream are refusals."""
    refusal = WORKERS_AI.frame(data, event).refusal

    assert refusal == Refusal(reason=RefusalReason.OVERLOAD, code=code, in_stream=True)


@pytest.mark.parametrize("finish_reason", ["error", "abort"])
def test_a_legacy_answer_that_broke_off(finish_reason: str):
    """A finish reason that means failure is a refusal in the legacy shape too."""
    data = json.dumps({"response": "x", "finish_reason": finish_reason}).encode()

    assert WORKERS_AI.frame(data, "").refusal == Refusal(
        reason=RefusalReason.SERVER, code=finish_reason, in_stream=True
    )


@pytest.mark.parametrize(
    ("answer", "frame"),
    [
        (
            {"response": "hello", "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}},
            Frame(content="hello", usage=Usage(prompt_tokens=9, completion_tokens=1), is_done=True),
        ),
        ({"response": ""}, Frame(is_done=True)),
        ({"response": {"a": 1}}, Frame(content='{"a": 1}', is_done=True)),
        ({"tool_calls": [{"name": "f", "arguments": {}}]}, Frame(content="f{}", tool=True, is_done=True)),
        (
            {"id": "x", "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]},
            Frame(content="hello", finish_reason="stop", response_id="x", is_done=True),
        ),
        ("hello", Frame(content="hello", is_done=True)),
        ({"status": "queued", "request_id": "x"}, Frame(is_bad=True)),
        (None, Frame(is_bad=True)),
        ({"choices": []}, Frame(is_bad=True)),
    ],
)
def test_enveloped_answers(answer: object, frame: Frame):
    """Legacy objects, chat completions and bare strings are read out of the envelope; a queue ticket is no answer."""
    assert WORKERS_AI.whole(enveloped(answer)) == frame


@pytest.mark.parametrize(
    ("body", "frame"),
    [
        (b'{"response":"hello"}', Frame(content="hello", is_done=True)),
        (b'{"choices":[{"message":{"content":"hello"}}]}', Frame(content="hello", is_done=True)),
        (b"", Frame(is_bad=True)),
        (b"[]", Frame(is_bad=True)),
        (b"<html>", Frame(is_bad=True)),
    ],
)
def test_answers_without_an_envelope(body: bytes, frame: Frame):
    """A gateway that takes the envelope off is understood; what is no answer is bad."""
    assert WORKERS_AI.whole(body) == frame


def test_a_failed_envelope_under_200_is_a_refusal():
    """`success: false` refuses whatever the status said, and text that came with it is still read."""
    message = "AiError: The estimated number of tokens (35000) exceeded this model context window limit (24000)"
    body = enveloped({"response": "leak"}, success=False, errors=[{"code": 3010, "message": message}])

    assert WORKERS_AI.whole(body) == Frame(
        content="leak",
        refusal=Refusal(reason=RefusalReason.LENGTH, code="3010", stated_limits=(24_000,)),
        is_done=True,
    )


def test_an_error_inside_a_successful_envelope():
    """An error object in the place of the answer is a refusal."""
    assert WORKERS_AI.whole(enveloped({"error": {"code": "server_error"}})).refusal == Refusal(
        reason=RefusalReason.SERVER, code="server_error"
    )


def test_statuses_outside_2xx():
    """Errors by status are classified like everywhere."""
    assert WORKERS_AI.refusal(413, b'{"success":false,"errors":[{"code":3006,"message":"x"}]}') == Refusal(
        reason=RefusalReason.BYTES, code="3006"
    )
