"""What every dialect in the registry must do."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.endpoint.dialects import DIALECTS
from prober.endpoint.dialects.dialect import Dialect
from prober.endpoint.frame import Frame

every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())

KEYS = (
    *(
        "choices",
        "delta",
        "message",
        "content",
        "text",
        "reasoning_content",
        "reasoning",
        "finish_reason",
        "id",
        "model",
    ),
    *("tool_calls", "function", "name", "arguments", "usage", "prompt_tokens", "prompt_tokens_details", "timings"),
    *("logprobs", "token", "bytes", "system_fingerprint"),
    *("sglext", "error", "errors", "detail", "code", "type", "object", "success", "result", "response"),
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["error", "abort"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
BODIES = st.binary(max_size=80) | JSON_VALUES.map(lambda value: json.dumps(value).encode())


@every_dialect
def test_the_registry_key_is_the_name(dialect: Dialect):
    """A dialect is configured by the name it gives itself."""
    assert DIALECTS[dialect.name] is dialect


@every_dialect
@settings(max_examples=120, derandomize=True, deadline=None)
@given(body=BODIES, event=st.sampled_from(["", "error", "sglext_ids"]), status=st.integers(100, 999))
def test_decoding_never_raises(dialect: Dialect, body: bytes, event: str, status: int):
    """Whatever the peer sends is data: decoded, refused or bad, with text that can be encoded."""
    for frame in (dialect.frame(body, event), dialect.whole(body)):
        assert (frame.content + frame.reasoning).encode() is not None
        if frame.is_bad:
            assert frame == Frame(is_bad=True)
    assert dialect.refusal(status, body).in_stream is False


@every_dialect
@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"choices":' * 50_000, b"1" * 50_000, b'"\\ud800"', b"\xff" * 99])
def test_hostile_bytes_never_raise(dialect: Dialect, body: bytes):
    """Endless nesting, endless digits and broken encodings are bad frames, not exceptions."""
    assert not dialect.frame(body, "").has_token
    assert dialect.refusal(500, body).reason is not None


@every_dialect
@pytest.mark.parametrize("content", ["", None])
def test_a_role_frame_is_no_token(dialect: Dialect, content: str | None):
    """The role chunk that some servers send before prefill must not forge an implausibly fast first token."""
    data = json.dumps({"choices": [{"delta": {"role": "assistant", "content": content}}]}).encode()

    assert dialect.frame(data, "") == Frame()


@every_dialect
def test_an_error_frame_is_a_refusal_in_the_stream(dialect: Dialect):
    """A healthy SGLang's rejection inside a 200 stream is recognised with its numbers."""
    message = "Input length (700000 tokens) exceeds the maximum allowed length (681274 tokens)."
    data = json.dumps(
        {"error": {"object": "error", "message": message, "type": "BadRequestError", "code": 400}}
    ).encode()

    refusal = dialect.frame(data, "").refusal

    assert refusal is not None
    assert (refusal.in_stream, refusal.stated_limits, refusal.stated_tokens) == (True, (681_274,), 700_000)


@every_dialect
def test_the_end_marker(dialect: Dialect):
    """`[DONE]` ends every dialect's stream."""
    assert dialect.frame(b"[DONE]", "") == Frame(is_done=True)


@every_dialect
@pytest.mark.parametrize("stream", [True, False])
def test_requests_carry_the_prompt_and_the_cap(dialect: Dialect, stream: bool):  # noqa: FBT001  (a test parameter)
    """The prompt arrives unchanged and the cap holds, whatever the operator adds."""
    text = 'a line\n"quoted" \\ é 漢\n'
    extra = {"messages": [], "max_tokens": 10_000, "stream": not stream, "x": 1}

    body = json.loads(dialect.body("m", text, max_output_tokens=64, temperature=0.0, stream=stream, extra=extra))

    assert body["messages"] == [{"role": "user", "content": text}]
    assert (body["max_tokens"], body["stream"], body["x"]) == (64, stream, 1)


@every_dialect
def test_paths_are_absolute_and_clean(dialect: Dialect):
    """A path starts with a slash and holds no query, fragment or white space, whatever the LLM is called."""
    path = dialect.path("a b?c#d")

    assert path.startswith("/")
    assert not set("?# ") & set(path)


@every_dialect
def test_a_prompt_of_megabytes_is_encoded(dialect: Dialect):
    """A prompt of a million words becomes one JSON body that decodes to the same text."""
    text = ("abcd " * 15 + "abcd\n") * 62_500

    body = dialect.body("m", text, max_output_tokens=1, temperature=0.0, stream=True, extra={})

    assert json.loads(body)["messages"][0]["content"] == text
