"""OpenAI chat and text completion objects, as SGLang fills them (entrypoints/openai/serving_chat.py, 0.5.19)."""

import abc
import dataclasses
import itertools
from typing import ClassVar

from prober.lab.events import Chunk, Done, Rejection, TokenLogprob
from prober.lab.surfaces import sglang_errors
from prober.lab.surfaces.frames import data_frame, json_bytes
from prober.lab.surfaces.shape import Refused, Stamp, Whole


def usage_object(done: Done) -> dict[str, object]:
    """Token counts; `prompt_tokens_details` is null where cached tokens are not reported, so missing is not zero.

    `reasoning_tokens` stands at the top level, as at SGLang.
    """
    cached = done.cached_tokens
    return {
        "prompt_tokens": done.prompt_tokens,
        "total_tokens": done.prompt_tokens + done.completion_tokens,
        "completion_tokens": done.completion_tokens,
        "prompt_tokens_details": None if cached is None else {"cached_tokens": cached},
        "reasoning_tokens": done.reasoning_tokens,
    }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OpenAiShape(abc.ABC):
    """What chat and text completions have in common: the head of each object, endings and errors."""

    stamp: Stamp
    wants_usage: bool

    STREAM_KIND: ClassVar[str]
    WHOLE_KIND: ClassVar[str]

    @abc.abstractmethod
    def first(self) -> bytes:
        """Render what goes ahead of the first output."""

    @abc.abstractmethod
    def chunk(self, chunk: Chunk) -> bytes:
        """Render newly generated text."""

    @abc.abstractmethod
    def finish(self, finish_reason: str) -> bytes:
        """Render the frame that carries the finish reason."""

    @abc.abstractmethod
    def choice(self, answer: Whole) -> dict[str, object]:
        """Build the one choice of an answer that is not streamed."""

    def last(self, done: Done) -> bytes:
        """Finish chunk, usage chunk where asked for, terminator."""
        return sglang_errors.terminated(self.finish(done.finish_reason), self._usage(done))

    def broken(self, rejection: Rejection) -> bytes:
        """Error frame, usage chunk of the stub where asked for, terminator."""
        return sglang_errors.terminated(sglang_errors.error_frame(rejection), self._usage(sglang_errors.stub_usage()))

    def completion(self, answer: Whole) -> dict[str, object]:
        """Build the completion object; Workers AI puts it into an envelope."""
        return {**self._head(self.WHOLE_KIND), "choices": [self.choice(answer)], "usage": usage_object(answer.done)}

    def whole(self, answer: Whole) -> bytes:
        """One JSON object."""
        return json_bytes(self.completion(answer))

    def refused(self, rejection: Rejection) -> Refused:
        """SGLang's flat error object."""
        return sglang_errors.refused(rejection)

    def _head(self, kind: str) -> dict[str, object]:
        stamp = self.stamp
        head = {"id": stamp.answer_id, "object": kind, "created": stamp.created, "model": stamp.model}
        return head | ({"system_fingerprint": stamp.fingerprint} if stamp.fingerprint else {})

    def _frame(self, choice: dict[str, object]) -> bytes:
        return data_frame({**self._head(self.STREAM_KIND), "choices": [choice], "usage": None})

    def _usage(self, done: Done) -> bytes:
        if not self.wants_usage:
            return b""
        return data_frame({**self._head(self.STREAM_KIND), "choices": [], "usage": usage_object(done)})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChatShape(OpenAiShape):
    """`/v1/chat/completions`."""

    STREAM_KIND: ClassVar[str] = "chat.completion.chunk"
    WHOLE_KIND: ClassVar[str] = "chat.completion"

    def first(self) -> bytes:
        """Role with empty content: no token yet, although SGLang sends it with the first one only."""
        return self._delta({"role": "assistant", "content": ""})

    def chunk(self, chunk: Chunk) -> bytes:
        """Reasoning and content, in frames of their own."""
        frames = b""
        if chunk.reasoning:
            frames += self._delta({"content": None, "reasoning_content": chunk.reasoning})
        if chunk.content:
            logprobs = _chat_logprobs(chunk.logprobs)
            frames += self._delta({"content": chunk.content, "reasoning_content": None}, logprobs=logprobs)
        return frames

    def finish(self, finish_reason: str) -> bytes:
        """Empty delta with the finish reason."""
        return self._delta({"content": None, "reasoning_content": None}, finish_reason)

    def choice(self, answer: Whole) -> dict[str, object]:
        """Message with content and reasoning."""
        message = {
            "role": "assistant",
            "content": answer.content,
            "reasoning_content": answer.reasoning or None,
            "tool_calls": None,
        }
        return {
            "index": 0,
            "message": message,
            "logprobs": _chat_logprobs(answer.logprobs),
            "finish_reason": answer.done.finish_reason or None,
        }

    def _delta(
        self, delta: dict[str, object], finish_reason: str | None = None, logprobs: dict[str, object] | None = None
    ) -> bytes:
        return self._frame({"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CompletionShape(OpenAiShape):
    """`/v1/completions`. It has no channel for reasoning, so reasoning stands in the text."""

    STREAM_KIND: ClassVar[str] = "text_completion"
    WHOLE_KIND: ClassVar[str] = "text_completion"

    def first(self) -> bytes:
        """Nothing: text completions have no opening frame."""
        return b""

    def chunk(self, chunk: Chunk) -> bytes:
        """All text in one channel."""
        text = chunk.reasoning + chunk.content
        return self._frame(_text_choice(text, None, chunk.logprobs)) if text else b""

    def finish(self, finish_reason: str) -> bytes:
        """Empty text with the finish reason."""
        return self._frame(_text_choice("", finish_reason))

    def choice(self, answer: Whole) -> dict[str, object]:
        """Text and finish reason."""
        return _text_choice(answer.reasoning + answer.content, answer.done.finish_reason or None, answer.logprobs)


def _text_choice(text: str, finish_reason: str | None, tokens: tuple[TokenLogprob, ...] = ()) -> dict[str, object]:
    return {"index": 0, "text": text, "logprobs": _text_logprobs(tokens), "finish_reason": finish_reason}


def _chat_logprobs(tokens: tuple[TokenLogprob, ...]) -> dict[str, object] | None:
    if not tokens:
        return None
    return {
        "content": [
            {"token": token.text, "bytes": list(token.text.encode()), "logprob": token.logprob, "top_logprobs": []}
            for token in tokens
        ]
    }


def _text_logprobs(tokens: tuple[TokenLogprob, ...]) -> dict[str, object] | None:
    """The older form: parallel lists."""
    if not tokens:
        return None
    texts = [token.text for token in tokens]
    offsets = itertools.accumulate(map(len, texts[:-1]), initial=0)
    return {
        "text_offset": list(offsets),
        "token_logprobs": [token.logprob for token in tokens],
        "tokens": texts,
        "top_logprobs": None,
    }
