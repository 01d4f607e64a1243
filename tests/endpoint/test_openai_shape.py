"""Chat completions as OpenAI shaped them, with every server's variations."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.observation import Refusal, RefusalReason, Usage
from prober.endpoint.frame import Frame
from prober.endpoint.openai_shape import chat_request, is_error, stream_frame, whole_answer

ENVELOPE = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "glm"}


def chunk(delta: object, **fields: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return json.dumps({**ENVELOPE, "choices": [choice], "usage": None, **fields}).encode()


@pytest.mark.parametrize(
    ("delta", "content", "reasoning"),
    [
        ({"role": "assistant", "content": ""}, "", ""),
        ({"role": "assistant", "content": None, "reasoning_content": None}, "", ""),
        ({"content": "hello"}, "hello", ""),
        ({"content": "hello", "obfuscation": "aX9"}, "hello", ""),
        ({"reasoning_content": "hm"}, "", "hm"),
        ({"reasoning": "hm", "content": ""}, "", "hm"),
        ({"reasoning": "hm", "reasoning_content": "hm"}, "", "hm"),
        ({"reasoning_content": "", "reasoning": "hm"}, "", "hm"),
        ({"thinking": [{"type": "text", "text": "hm"}]}, "", "hm"),
        ({"content": [{"type": "text", "text": "a"}, "b", 3, None]}, "ab3", ""),
        ({"refusal": "I cannot"}, "I cannot", ""),
        ({"content": "\ud83d"}, "\ufffd", ""),
        ({"content": 7}, "7", ""),
        ({"content": {"answer": 1}}, '{"answer": 1}', ""),
        (None, "", ""),
        ([], "", ""),
        ("text", "", ""),
    ],
)
def test_channels_of_a_chunk(delta: object, content: str, reasoning: str):
    """Content and reasoning are read under every name and in every form; role and padding are neither."""
    frame = stream_frame(chunk(delta), "")

    assert (frame.content, frame.reasoning, frame.tool) == (content, reasoning, False)
    assert (frame.response_id, frame.model) == ("chatcmpl-1", "glm")
    assert frame.has_token is bool(content or reasoning)


@pytest.mark.parametrize(
    ("delta", "text"),
    [
        ({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}, "f"),
        ({"tool_calls": [{"index": 0, "function": {"arguments": '{"q":'}}]}, '{"q":'),
        ({"tool_calls": [{"function": {"name": "f", "arguments": {"q": 1}}}]}, 'f{"q": 1}'),
        ({"function_call": {"name": "f", "arguments": "x"}}, "fx"),
        ({"tool_calls": [{"index": 0, "function": {"name": "", "arguments": ""}}]}, ""),
        ({"tool_calls": []}, ""),
        ({"tool_calls": None, "function_call": None}, ""),
        ({"tool_calls": [None, 5]}, ""),
    ],
)
def test_tool_calls_are_read_as_text(delta: dict[str, object], text: str):
    """Foreign text inside a tool call is still foreign text; an empty part of a call is no token."""
    frame = stream_frame(chunk(delta), "")

    assert (frame.content, frame.tool) == (text, bool(text))


def test_every_choice_is_read():
    """Text of a choice we did not ask for is not overlooked."""
    data = json.dumps({"choices": [{"delta": {"content": "a"}}, {"text": "b", "finish_reason": "stop"}, 5]}).encode()

    frame = stream_frame(data, "")

    assert (frame.content, frame.finish_reason) == ("ab", "stop")


def test_the_end_marker():
    """`[DONE]` ends a stream, with or without white space around it."""
    assert stream_frame(b"[DONE]", "") == stream_frame(b" [DONE]\r", "") == Frame(is_done=True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b'{"choices":[]}',
        b'{"choices":null,"usage":null}',
        b'{"choices":{"a":1}}',
        b'{"input_ids":[1,2]}',
        b'{"error":null}',
    ],
)
def test_events_that_say_nothing(data: bytes):
    """Events without text, usage or error are neither tokens nor faults."""
    assert stream_frame(data, "") == Frame()


@pytest.mark.parametrize("data", [b"text", b"17", b'"text"', b"[1]", b'{"cut', b"\xff", b"null"])
def test_events_that_are_no_object(data: bytes):
    """An event that is no JSON object is bad, and counted as such."""
    assert stream_frame(data, "") == Frame(is_bad=True)


def test_usage_chunk():
    """The extra chunk that `include_usage` asks for has no choice and all counts."""
    data = b'{"choices":[],"usage":{"prompt_tokens":681274,"completion_tokens":64,"total_tokens":681338}}'

    assert stream_frame(data, "") == Frame(usage=Usage(prompt_tokens=681_274, completion_tokens=64))


@pytest.mark.parametrize("reason", ["stop", "length", "tool_calls", "content_filter", "eos_token", "model_length"])
def test_finish_reasons_of_served_answers(reason: str):
    """Ordinary finish reasons are passed on and refuse nothing."""
    frame = stream_frame(json.dumps({"choices": [{"delta": {}, "finish_reason": reason}]}).encode(), "")

    assert (frame.finish_reason, frame.refusal) == (reason, None)


@pytest.mark.parametrize("reason", ["abort", "error"])
def test_answers_that_broke_off_are_not_served(reason: str):
    """An abort or error under HTTP 200 is a refusal by the server, and its text is kept for reading."""
    choice = {"delta": {"content": "x"}, "message": {"content": "x"}, "finish_reason": reason}
    data = json.dumps({"choices": [choice]}).encode()

    for frame, in_stream in ((stream_frame(data, ""), True), (whole_answer(data), False)):
        assert frame.refusal == Refusal(reason=RefusalReason.SERVER, code=reason, in_stream=in_stream)
        assert (frame.content, frame.finish_reason) == ("x", reason)


def test_an_abort_that_says_why():
    """SGLang's native abort object is classified by its message."""
    finish = {"type": "abort", "message": "Input length (9 tokens) exceeds the maximum allowed length (8 tokens)."}
    data = json.dumps({"choices": [{"delta": {}, "finish_reason": finish}]}).encode()

    assert stream_frame(data, "").refusal == Refusal(
        reason=RefusalReason.LENGTH, code="abort", in_stream=True, stated_limits=(8,), stated_tokens=9
    )


@pytest.mark.parametrize(
    ("data", "event", "reason"),
    [
        (b'{"error":{"object":"error","message":"prompt is too long","code":400}}', "", RefusalReason.LENGTH),
        (b'{"object":"error","message":"prompt is too long","code":400}', "", RefusalReason.LENGTH),
        (
            b'{"error":"`inputs` must have less than 5 tokens. Given: 6","error_type":"validation"}',
            "",
            RefusalReason.LENGTH,
        ),
        (b'{"type":"error","error":{"code":"context_length_exceeded"}}', "", RefusalReason.LENGTH),
        (b'{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded"}}}', "", RefusalReason.RATE),
        (b'{"detail":"Invalid API key"}', "", RefusalReason.AUTH),
        (b'{"success":false,"errors":[{"code":3006,"message":"x"}]}', "", RefusalReason.BYTES),
        (b"""{'error': {"message": "The request queue is full.","status":503}}""", "", RefusalReason.OVERLOAD),
        (b'{"error":{"message":"cut off', "", RefusalReason.SERVER),
        (b"plain words", "error", RefusalReason.SERVER),
        (b'{"message":"plain words"}', "error", RefusalReason.SERVER),
    ],
)
def test_error_frames(data: bytes, event: str, reason: RefusalReason):
    """Errors inside a stream of HTTP 200 are refusals in every documented disguise."""
    frame = stream_frame(data, event)

    assert frame.refusal is not None
    assert (frame.refusal.reason, frame.refusal.in_stream) == (reason, True)
    assert not frame.has_token
    assert not frame.is_bad


def test_an_error_frame_keeps_the_text_beside_it():
    """A chunk with both an error and text is refused, and its text is still read."""
    frame = stream_frame(chunk({"content": "leak"}, error={"message": "x"}), "")

    assert frame.content == "leak"
    assert frame.refusal is not None


def test_whole_answers():
    """A JSON body is decoded like one big chunk, and is done."""
    message = {"role": "assistant", "content": "hello", "reasoning_content": "hm", "tool_calls": None}
    body = json.dumps(
        {**ENVELOPE, "choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}
    ).encode()

    assert whole_answer(body) == Frame(
        content="hello",
        reasoning="hm",
        finish_reason="stop",
        usage=Usage(prompt_tokens=9),
        response_id="chatcmpl-1",
        model="glm",
        is_done=True,
    )


@pytest.mark.parametrize("body", [b"", b"text", b"[]", b"{}", b'{"choices":[]}', b'{"choices":[5]}', b'{"id":"x"}'])
def test_whole_answers_without_a_choice_are_bad(body: bytes):
    """A 2xx body that holds no completion is malformed, not an empty answer."""
    assert whole_answer(body) == Frame(is_bad=True)


def test_a_whole_error_under_200():
    """A gateway's error object under HTTP 200 is a refusal that came in no stream."""
    frame = whole_answer(b'{"error":{"message":"Upstream error from X: prompt is too long","code":400}}')

    assert frame == Frame(refusal=Refusal(reason=RefusalReason.LENGTH, code="400"), is_done=True)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"error": None, "choices": []}, False),
        ({"error": ""}, False),
        ({"detail": "x", "choices": []}, False),
        ({"success": True, "errors": []}, False),
        ({"success": False}, True),
        (None, False),
        ([{"error": "x"}], False),
    ],
)
def test_what_counts_as_an_error(document: object, expected: bool):  # noqa: FBT001  (a test parameter)
    """Empty error fields and side notes beside choices are no errors."""
    assert is_error(document) is expected


def test_requests_hold_what_every_judgement_relies_on():
    """The operator's fields win over the dialect's, but prompt, stream flag and output cap are ours."""
    extra = {"temperature": 0.7, "top_k": 1, "seed": None, "messages": [], "stream": False, "max_tokens": 9000}

    body = chat_request(
        {"model": "m", "temperature": 0, "seed": 1}, "hi é", max_output_tokens=64, stream=True, extra=extra
    )

    assert body.isascii()
    assert json.loads(body) == {
        "model": "m",
        "temperature": 0.7,
        "top_k": 1,
        "messages": [{"role": "user", "content": "hi é"}],
        "max_tokens": 64,
        "stream": True,
    }


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    text=st.text(st.characters(), max_size=40),
    extra=st.dictionaries(st.text(max_size=5), st.sampled_from([1, '""', "", [{"content": ""}], {"": ""}]), max_size=3),
    stream=st.booleans(),
)
def test_requests_are_those_of_the_standard_encoder(text: str, extra: dict[str, object], stream: bool):  # noqa: FBT001
    """Whatever the prompt and the operator's own fields hold, the bytes are those of `json.dumps`."""
    body = chat_request({"model": "glm"}, text, max_output_tokens=8, stream=stream, extra=extra)

    expected = {"model": "glm", **extra, "messages": [{"role": "user", "content": text}], "max_tokens": 8}
    assert body == json.dumps({**expected, "stream": stream}, separators=(",", ":")).encode()


def test_the_cap_takes_the_name_that_the_operator_asks_for():
    """Services that know `max_completion_tokens` only are capped all the same."""
    body = chat_request({}, "x", max_output_tokens=64, stream=False, extra={"max_completion_tokens": None})

    assert json.loads(body) == {
        "messages": [{"role": "user", "content": "x"}],
        "max_completion_tokens": 64,
        "stream": False,
    }
