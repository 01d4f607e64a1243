"""The dialect that most servers speak, under whichever route they offer it."""

import dataclasses
from collections.abc import Mapping

from prober.domain.observation import Refusal
from prober.domain.options import PLAIN, RequestOptions
from prober.endpoint.frame import Frame
from prober.endpoint.openai_shape import chat_request, stream_frame, whole_answer
from prober.endpoint.refusals import classify
from prober.endpoint.request_options import option_fields


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ChatCompletions:
    """OpenAI's chat completions. Satisfies `Dialect`; sends standard fields only.

    Some servers answer 422 to any field they do not know (transformers serve), so nothing of one server's own is sent
    unless the operator asks for it.
    """

    name: str
    route: str

    def path(self, model: str) -> str:  # noqa: ARG002  (part of the Dialect protocol)
        """Path below the base URL; the LLM's name stands in the body."""
        return self.route

    def body(
        self,
        model: str,
        prompt_text: str,
        *,
        max_output_tokens: int,
        temperature: float,
        stream: bool,
        extra: Mapping[str, object],
        options: RequestOptions = PLAIN,
    ) -> bytes:
        """Encode a request; a stream asks for its usage."""
        fields = {
            "model": model,
            "temperature": temperature,
            "stream_options": {"include_usage": True} if stream else None,
        }
        return chat_request(
            fields,
            prompt_text,
            max_output_tokens=max_output_tokens,
            stream=stream,
            extra=extra,
            wished=option_fields(options),
            malformation=options.malformation,
        )

    def frame(self, data: bytes, event: str) -> Frame:
        """Decode one server-sent event's data."""
        return stream_frame(data, event)

    def whole(self, body: bytes) -> Frame:
        """Decode a 2xx JSON body."""
        return whole_answer(body)

    def refusal(self, status: int, body: bytes) -> Refusal:
        """Classify an answer whose status is not 2xx."""
        return classify(status, body)
