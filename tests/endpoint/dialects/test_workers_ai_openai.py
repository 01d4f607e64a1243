"""Workers AI's OpenAI-compatible endpoint."""

import json

from prober.domain.observation import Refusal, RefusalReason
from prober.endpoint.dialects.workers_ai_openai import WORKERS_AI_OPENAI


def test_the_route_below_the_account():
    """The base URL ends in the account, the route is Cloudflare's."""
    assert (WORKERS_AI_OPENAI.name, WORKERS_AI_OPENAI.path("glm")) == ("workers-ai-openai", "/ai/v1/chat/completions")


def test_prefixed_errors_keep_the_engine_s_numbers():
    """Engine texts come through with `AiError:` in front and a uuid behind; their numbers are read all the same."""
    message = (
        "AiError: AiError: The input (1048600 tokens) is longer than the model's context length (1048576 tokens). "
        "(388540af-58a4-4a3c-9d3e-000000001234)"
    )
    body = json.dumps({"error": {"code": "invalid_prompt", "message": message}}).encode()

    assert WORKERS_AI_OPENAI.refusal(400, body) == Refusal(
        reason=RefusalReason.LENGTH, code="invalid_prompt", stated_limits=(1_048_576,), stated_tokens=1_048_600
    )


def test_enveloped_errors():
    """The front door answers in Cloudflare's envelope, under 2xx too."""
    body = json.dumps(
        {"result": None, "success": False, "errors": [{"code": 5007, "message": "No such model"}]}
    ).encode()

    assert WORKERS_AI_OPENAI.refusal(400, body).reason is RefusalReason.NOT_FOUND
    assert WORKERS_AI_OPENAI.whole(body).refusal == Refusal(reason=RefusalReason.NOT_FOUND, code="5007")
