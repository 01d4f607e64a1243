"""OpenAI-compatible surfaces, as SGLang serves them."""

from collections.abc import Mapping

from prober.lab.surfaces import sglang_errors
from prober.lab.surfaces.asking import OPENAI_DEFAULT_MAX_TOKENS, Asked, ask_chat, ask_prompt
from prober.lab.surfaces.openai_shape import ChatShape, CompletionShape
from prober.lab.surfaces.shape import Refused, Shape, Stamp


class SglangSurface:
    """What both have in common: SGLang's errors, and that any name of an LLM is served."""

    def __init__(self, model: str) -> None:
        self._model = model

    def unauthorised(self) -> Refused:
        """SGLang's 401."""
        return sglang_errors.unauthorised()

    def invalid(self, message: str) -> Refused:
        """SGLang's 400."""
        return sglang_errors.invalid(message)

    def too_many_bytes(self) -> Refused:
        """The reverse proxy's 413."""
        return sglang_errors.too_many_bytes()

    def busy(self) -> Refused:
        """SGLang's 503."""
        return sglang_errors.busy()


class Chat(SglangSurface):
    """`/v1/chat/completions`."""

    name = "openai_chat"

    def ask(self, fields: Mapping[str, object]) -> Asked | Refused:
        """Read messages."""
        return ask_chat(fields, model=self._model, default_max_tokens=OPENAI_DEFAULT_MAX_TOKENS)

    def shape(self, asked: Asked, stamp: Stamp) -> Shape:
        """Chat objects."""
        return ChatShape(stamp=stamp, wants_usage=asked.wants_usage)


class Completions(SglangSurface):
    """`/v1/completions`."""

    name = "openai_completions"

    def ask(self, fields: Mapping[str, object]) -> Asked | Refused:
        """Read a plain prompt."""
        return ask_prompt(fields, model=self._model, default_max_tokens=OPENAI_DEFAULT_MAX_TOKENS)

    def shape(self, asked: Asked, stamp: Stamp) -> Shape:
        """Text completion objects."""
        return CompletionShape(stamp=stamp, wants_usage=asked.wants_usage)
