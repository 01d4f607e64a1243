"""What a wire dialect must offer."""

from collections.abc import Mapping
from typing import Protocol

from prober.domain.observation import Refusal
from prober.domain.options import PLAIN, RequestOptions
from prober.endpoint.frame import Frame

__all__ = ["Dialect", "Frame"]


class Dialect(Protocol):
    """One way of asking for a chat completion over HTTP. Stateless; no method that decodes ever raises."""

    @property
    def name(self) -> str:
        """Registry key, as written in the configuration."""
        ...

    def path(self, model: str) -> str:
        """Path below the target's base URL, starting with a slash, percent-encoded."""
        ...

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
        """Encode a request as JSON (ASCII).

        `extra` holds the operator's own fields: they win over ours and a None drops a field, but they cannot touch the
        prompt, the stream flag or the output cap, which every judgement relies on. Where `extra` names
        `max_completion_tokens`, the cap is sent under that name.

        `options` is what the probe asks for beside its prompt; it wins over `extra`. What a dialect has no field for is
        left out. Its headers are not the dialect's. With a malformation the body is the sound one but for that fault:
        no longer JSON (BROKEN_JSON), without the prompt (NO_MESSAGES), else with the prompt as it is.
        """
        ...

    def frame(self, data: bytes, event: str) -> Frame:
        """Decode one server-sent event's data; `event` is its name, empty for the default."""
        ...

    def whole(self, body: bytes) -> Frame:
        """Decode the JSON body of a 2xx answer that is no stream."""
        ...

    def refusal(self, status: int, body: bytes) -> Refusal:
        """Classify an answer whose status is not 2xx."""
        ...
