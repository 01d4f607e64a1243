"""OpenAI's chat completions, as SGLang, vLLM, llama.cpp, TensorRT-LLM, TGI and most gateways serve them."""

from typing import Final

from prober.endpoint.chat_completions import ChatCompletions

OPENAI_CHAT: Final = ChatCompletions(name="openai-chat", route="/chat/completions")
"""The target's base URL ends in `/v1`."""
