"""Cloudflare Workers AI's OpenAI-compatible endpoint.

Its errors are OpenAI's objects or Cloudflare's envelope; their texts carry the prefix `AiError:`, a four-digit code in
front at times, and a uuid in brackets at the end.
"""

from typing import Final

from prober.endpoint.chat_completions import ChatCompletions

WORKERS_AI_OPENAI: Final = ChatCompletions(name="workers-ai-openai", route="/ai/v1/chat/completions")
"""The target's base URL ends in `/accounts/{account id}`."""
