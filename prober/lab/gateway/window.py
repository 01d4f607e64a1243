"""The gateway's window: what becomes of prompts that are longer than it."""

import asyncio
import dataclasses
from collections.abc import Sequence

from prober.lab.events import Done, FrontEvent, GenerateRequest
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings
from prober.lab.tokenizer import Tokenizer

Messages = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What became of a request at the window."""

    request: GenerateRequest
    tokens_dropped: int = 0
    tokens_told: int | None = None
    """Prompt tokens to report instead of the backend's count; None: the backend's."""

    def told(self, event: FrontEvent) -> FrontEvent:
        """The event with the count that the client is told."""
        if isinstance(event, Done) and self.tokens_told is not None:
            return dataclasses.replace(event, prompt_tokens=self.tokens_told)
        return event


class Window:
    """Cuts prompts where a decision says so; the right one sends every prompt on as it is."""

    def __init__(self, settings: LabSettings, seams: Seams) -> None:
        self._tokens = settings.gateway.window_tokens or settings.context_tokens // 2
        self._seams = seams
        self._tokenizer = Tokenizer(settings.preamble)

    async def pass_through(self, number: int, request: GenerateRequest) -> Passage:
        """Let a request through, whole or cut."""
        characters = sum(len(content) for _role, content in request.messages)
        # No token is shorter than a character.
        if not self._seams.CUTS_PROMPTS or characters <= self._tokens:
            return Passage(request=request)
        counted = len(await asyncio.to_thread(self._tokenizer.encode_chat, request.messages))
        if counted <= self._tokens:
            return Passage(request=request)
        excess = counted - self._tokens
        if self._seams.drops_head(number):
            # Oldest text goes first; usage is what the backend counts of the rest (Ollama).
            messages = self._cut(request.messages, excess, is_from_start=True)
            return Passage(request=dataclasses.replace(request, messages=messages), tokens_dropped=excess)
        if self._seams.drops_tail(number):
            # What does not fit is not sent; usage was counted before (a gateway that bills by its own count).
            messages = self._cut(request.messages[::-1], excess, is_from_start=False)[::-1]
            cut = dataclasses.replace(request, messages=messages)
            return Passage(request=cut, tokens_dropped=excess, tokens_told=counted)
        return Passage(request=request)

    def _cut(self, messages: Sequence[tuple[str, str]], excess: int, *, is_from_start: bool) -> Messages:
        """Take so many tokens from the first messages given, at their start or at their end."""
        kept: list[tuple[str, str]] = []
        for role, content in messages:
            ids = self._tokenizer.encode(content)
            dropped = min(excess, len(ids))
            excess -= dropped
            rest = ids[dropped:] if is_from_start else ids[: len(ids) - dropped]
            kept.append((role, self._tokenizer.decode(rest) if dropped else content))
        return tuple(kept)
