"""Wire dialects by name."""

from collections.abc import Mapping

from prober.endpoint.dialects.dialect import Dialect
from prober.endpoint.dialects.openai_chat import OPENAI_CHAT
from prober.endpoint.dialects.workers_ai import WORKERS_AI
from prober.endpoint.dialects.workers_ai_openai import WORKERS_AI_OPENAI

DIALECTS: Mapping[str, Dialect] = {
    "openai-chat": OPENAI_CHAT,
    "workers-ai": WORKERS_AI,
    "workers-ai-openai": WORKERS_AI_OPENAI,
}
