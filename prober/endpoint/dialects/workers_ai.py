"""Cloudflare Workers AI's native endpoint: enveloped JSON, and streams of two shapes."""

import dataclasses
import urllib.parse
from collections.abc import Mapping
from typing import Final

from prober.domain.observation import Refusal
from prober.domain.options import PLAIN, RequestOptions
from prober.endpoint.frame import Frame
from prober.endpoint.openai_shape import chat_request, completion, is_error, stream_frame
from prober.endpoint.refusals import classify
from prober.endpoint.request_options import native_fields
from prober.endpoint.tolerant_json import as_items, as_map, decode

_OK = 200


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WorkersAi:
    """`POST {base}/ai/run/{model}`; the base URL ends in `/accounts/{account id}`. Satisfies `Dialect`.

    Asks to be refused rather than queued when the service is busy: queueing would stretch the timings that the prefill
    floor is made of.
    """

    name: str

    def path(self, model: str) -> str:
        """Path below the base URL, such as `/ai/run/@cf/zai-org/glm-5.3`."""
        return "/ai/run/" + urllib.parse.quote(model, safe="/@:")

    def body(
        self,
        model: str,  # noqa: ARG002  (stands in the path here)
        prompt_text: str,
        *,
        max_output_tokens: int,
        temperature: float,
        stream: bool,
        extra: Mapping[str, object],
        options: RequestOptions = PLAIN,
    ) -> bytes:
        """Encode a request; usage comes unasked in a stream's last frame."""
        fields = {"temperature": temperature, "options": {"rejectIfBusy": True}}
        return chat_request(
            fields,
            prompt_text,
            max_output_tokens=max_output_tokens,
            stream=stream,
            extra=extra,
            wished=native_fields(options),
            malformation=options.malformation,
        )

    def frame(self, data: bytes, event: str) -> Frame:
        """Decode one event: an OpenAI chunk, or the legacy `{"response": "..."}`, told apart event by event."""
        fields = as_map(decode(data))
        if _is_legacy(fields) and event != "error" and not is_error(fields):
            return completion(_as_chat(fields), in_stream=True)
        return stream_frame(data, event)

    def whole(self, body: bytes) -> Frame:
        """Decode a JSON body; `success: false` is a refusal whatever the HTTP status said."""
        fields = as_map(decode(body))
        answer = fields.get("result", fields)
        parts = {"response": answer} if isinstance(answer, str) else as_map(answer)
        frame = dataclasses.replace(completion(_as_chat(parts) if _is_legacy(parts) else parts), is_done=True)
        if is_error(fields) or is_error(parts):
            return dataclasses.replace(frame, refusal=classify(_OK, body))
        if not _is_legacy(parts) and not as_items(parts.get("choices")):
            return Frame(is_bad=True)
        return frame

    def refusal(self, status: int, body: bytes) -> Refusal:
        """Classify an answer whose status is not 2xx."""
        return classify(status, body)


def _is_legacy(fields: Mapping[str, object]) -> bool:
    return "choices" not in fields and ("response" in fields or "tool_calls" in fields)


def _as_chat(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Rewrite `{"response", "tool_calls", "finish_reason", ...}` as the chat completion that says the same."""
    message = {"content": fields.get("response"), "tool_calls": fields.get("tool_calls")}
    return {**fields, "choices": [{"message": message, "finish_reason": fields.get("finish_reason")}]}


WORKERS_AI: Final = WorkersAi(name="workers-ai")
