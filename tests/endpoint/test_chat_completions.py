"""The dialect that most servers speak."""

import json

import pytest

from prober.endpoint.chat_completions import ChatCompletions

DIALECT = ChatCompletions(name="some", route="/some/route")


@pytest.mark.parametrize("stream", [True, False])
def test_only_standard_fields_are_sent(stream: bool):  # noqa: FBT001  (a test parameter)
    """Servers that refuse unknown fields see none; usage is asked for in streams only."""
    body = json.loads(DIALECT.body("glm", "hi", max_output_tokens=8, temperature=0.5, stream=stream, extra={}))

    assert body.pop("stream_options", None) == ({"include_usage": True} if stream else None)
    assert body == {
        "model": "glm",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 8,
        "temperature": 0.5,
        "stream": stream,
    }


def test_the_route_does_not_depend_on_the_llm():
    """The LLM's name stands in the body, never in the path."""
    assert DIALECT.path("a/../b?c") == "/some/route"
