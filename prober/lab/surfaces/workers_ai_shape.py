"""Workers AI answers: the native envelope and streams, and the OpenAI-compatible ones with their own errors."""

import dataclasses
import uuid

from prober.lab.events import Chunk, Done, Rejection
from prober.lab.surfaces import sglang_errors
from prober.lab.surfaces.frames import data_frame, json_bytes
from prober.lab.surfaces.openai_shape import ChatShape, usage_object
from prober.lab.surfaces.shape import Refused, Whole

AUTHENTICATION_ERROR = 10000
INVALID_DATA = 5004
NO_SUCH_MODEL = 5007
REQUEST_TOO_LARGE = 3006
OVER_ESTIMATE = 3010
OUT_OF_CAPACITY = 3040
INTERNAL = 3043

FIRST_SERVER_ERROR = 500


def envelope_error(status: int, code: int, message: str) -> Refused:
    """Wrap an error of Cloudflare's front door."""
    body = {"result": None, "success": False, "errors": [{"code": code, "message": message}], "messages": []}
    return Refused(status=status, body=json_bytes(body))


def unauthorised() -> Refused:
    """Answer for a missing or unknown API token."""
    return envelope_error(401, AUTHENTICATION_ERROR, "Authentication error")


def invalid(message: str) -> Refused:
    """Answer for a request that fails validation."""
    return envelope_error(400, INVALID_DATA, f"AiError: Invalid data: {message}")


def too_many_bytes() -> Refused:
    """Answer for a body above the limit."""
    return envelope_error(413, REQUEST_TOO_LARGE, "AiError: Request is too large")


def busy() -> Refused:
    """Answer where the caller would rather be refused than queued."""
    return envelope_error(429, OUT_OF_CAPACITY, "AiError: Capacity temporarily exceeded, please try again.")


def no_such_model() -> Refused:
    """Answer for a name that is not in the catalogue."""
    return envelope_error(400, NO_SUCH_MODEL, "AiError: No such model")


def over_estimate(estimate: int, context_tokens: int) -> Refused:
    """Answer of the classic front door, which never asks the engine."""
    return envelope_error(
        413,
        OVER_ESTIMATE,
        f"AiError: The estimated number of input and maximum output tokens ({estimate}) exceeded this model "
        f"context window limit ({context_tokens})",
    )


def engine_text(rejection: Rejection, answer_id: str) -> str:
    """Pass the engine's own words through, prefixed twice and marked with an id, as the service does."""
    return f"AiError: AiError: {rejection.message} ({uuid.UUID(answer_id)})"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NativeLegacyShape:
    """Legacy `{"response": …}` answers; reasoning has no channel there and is dropped."""

    answer_id: str

    def first(self) -> bytes:
        """No opening frame."""
        return b""

    def chunk(self, chunk: Chunk) -> bytes:
        """Content alone."""
        return data_frame({"response": chunk.content}) if chunk.content else b""

    def last(self, done: Done) -> bytes:
        """Render a frame with usage, whether asked for or not, then the terminator; no finish reason exists here."""
        return sglang_errors.terminated(data_frame({"response": "", "usage": usage_object(done)}))

    def broken(self, rejection: Rejection) -> bytes:
        """Engine's error frame, usage of the stub, terminator."""
        frame = sglang_errors.error_frame(rejection)
        return frame + self.last(sglang_errors.stub_usage())

    def whole(self, answer: Whole) -> bytes:
        """Legacy object in the envelope."""
        return _envelope({"response": answer.content, "tool_calls": [], "usage": usage_object(answer.done)})

    def refused(self, rejection: Rejection) -> Refused:
        """Engine's words in the envelope."""
        return _native_refusal(rejection, self.answer_id)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NativeChatShape(ChatShape):
    """OpenAI-shaped frames on the native surface, the whole object inside the envelope."""

    def whole(self, answer: Whole) -> bytes:
        """Chat object in the envelope."""
        return _envelope(self.completion(answer))

    def refused(self, rejection: Rejection) -> Refused:
        """Engine's words in the envelope."""
        return _native_refusal(rejection, self.stamp.answer_id)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleShape(ChatShape):
    """The OpenAI-compatible surface: chat objects without an envelope, errors under `error` with string codes."""

    def refused(self, rejection: Rejection) -> Refused:
        """Engine's words under `error`."""
        code = "invalid_prompt" if rejection.status < FIRST_SERVER_ERROR else "server_error"
        error = {"code": code, "message": engine_text(rejection, self.stamp.answer_id)}
        return Refused(status=rejection.status, body=json_bytes({"error": error}))


def _envelope(content: dict[str, object]) -> bytes:
    return json_bytes({"result": content, "success": True, "errors": [], "messages": []})


def _native_refusal(rejection: Rejection, answer_id: str) -> Refused:
    code = INVALID_DATA if rejection.status < FIRST_SERVER_ERROR else INTERNAL
    return envelope_error(rejection.status, code, engine_text(rejection, answer_id))
