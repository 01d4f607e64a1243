"""Workers AI surfaces: native and OpenAI-compatible. Any account id is accepted; the key alone is the tenant."""

import dataclasses
from collections.abc import Mapping

from prober.lab.settings import LabSettings
from prober.lab.surfaces import workers_ai_shape
from prober.lab.surfaces.asking import WORKERS_AI_DEFAULT_MAX_TOKENS, Asked, ask_chat, ask_prompt
from prober.lab.surfaces.settings import NativeShape, SurfaceSettings
from prober.lab.surfaces.shape import Refused, Shape, Stamp

CHARACTERS_PER_TOKEN = 4
"""The classic front door's estimate; coarse on purpose, it never sees the tokenizer."""


class WorkersAiSurface:
    """What both have in common: Cloudflare's front door, and one LLM in the catalogue."""

    def __init__(self, lab: LabSettings, settings: SurfaceSettings) -> None:
        self._lab = lab
        self._settings = settings

    def unauthorised(self) -> Refused:
        """Envelope with 10000."""
        return workers_ai_shape.unauthorised()

    def invalid(self, message: str) -> Refused:
        """Envelope with 5004."""
        return workers_ai_shape.invalid(message)

    def too_many_bytes(self) -> Refused:
        """Envelope with 3006."""
        return workers_ai_shape.too_many_bytes()

    def busy(self) -> Refused:
        """Envelope with 3040."""
        return workers_ai_shape.busy()

    def _admit(self, asked: Asked) -> Asked | Refused:
        if asked.model not in self._lab.groups:
            return workers_ai_shape.no_such_model()
        characters = sum(len(content) for _, content in asked.messages)
        estimate = characters // CHARACTERS_PER_TOKEN + asked.max_tokens
        if self._settings.has_estimate_door and estimate > self._lab.context_tokens:
            return workers_ai_shape.over_estimate(estimate, self._lab.context_tokens)
        return asked


class Native(WorkersAiSurface):
    """`/client/v4/accounts/{account}/ai/run/{model}`."""

    name = "workers_ai"

    def ask(self, fields: Mapping[str, object]) -> Asked | Refused:
        """Read messages, or a prompt where there are none."""
        read = ask_prompt if "prompt" in fields and "messages" not in fields else ask_chat
        asked = read(fields, model="", default_max_tokens=WORKERS_AI_DEFAULT_MAX_TOKENS)
        is_stream = asked.is_stream and not self._settings.ignores_stream
        # The native surface knows no `stream_options`: its streams always end with usage.
        return self._admit(dataclasses.replace(asked, is_stream=is_stream, wants_usage=True))

    def shape(self, asked: Asked, stamp: Stamp) -> Shape:
        """Legacy or chat-shaped, as the lab is set."""
        if self._settings.native_shape is NativeShape.LEGACY:
            return workers_ai_shape.NativeLegacyShape(answer_id=stamp.answer_id)
        return workers_ai_shape.NativeChatShape(stamp=stamp, wants_usage=asked.wants_usage)


class Compatible(WorkersAiSurface):
    """`/client/v4/accounts/{account}/ai/v1/chat/completions`."""

    name = "workers_ai_openai"

    def ask(self, fields: Mapping[str, object]) -> Asked | Refused:
        """Read messages; the LLM stands in the body."""
        return self._admit(ask_chat(fields, model="", default_max_tokens=WORKERS_AI_DEFAULT_MAX_TOKENS))

    def shape(self, asked: Asked, stamp: Stamp) -> Shape:
        """Chat objects with this surface's errors."""
        return workers_ai_shape.CompatibleShape(stamp=stamp, wants_usage=asked.wants_usage)
