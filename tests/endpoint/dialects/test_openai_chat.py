"""OpenAI's chat completions."""

from prober.endpoint.dialects.openai_chat import OPENAI_CHAT


def test_the_route_below_v1():
    """The base URL ends in `/v1`, the route is OpenAI's."""
    assert (OPENAI_CHAT.name, OPENAI_CHAT.path("glm")) == ("openai-chat", "/chat/completions")
