"""Why a request was refused: a revoked key's 403 is no length rejection, and a length rejection may come as 403."""

import re
from collections.abc import Mapping

from prober.domain.observation import Refusal, RefusalReason
from prober.endpoint.error_body import ErrorBody, parse_error
from prober.endpoint.overflow_text import says_overflow, stated_limits, stated_tokens

_RATE_TEXT = re.compile(r"rate[ _-]?limit|too many requests|throttl|tokens per min|quota", re.IGNORECASE)
"""Looked for first: rate limits on tokens use the words of length limits."""

_TEXTS: tuple[tuple[re.Pattern[str], RefusalReason], ...] = (
    (
        re.compile(
            r"(?:entity|body|payload|request) (?:is )?too large|length limit exceeded|string too long",
            re.IGNORECASE,
        ),
        RefusalReason.BYTES,
    ),
    (
        re.compile(r"worker died|engine ?(?:core|process)?.{0,20}\b(?:dead|died)\b", re.IGNORECASE),
        RefusalReason.SERVER,
    ),
    (
        re.compile(
            r"queue is full|waiting timeout|overloaded|out of capacity|capacity temporarily exceeded|server is busy",
            re.IGNORECASE,
        ),
        RefusalReason.OVERLOAD,
    ),
    (
        re.compile(r"(?:invalid|incorrect|missing) api[ _-]?key|\bunauthorized\b|authentication error", re.IGNORECASE),
        RefusalReason.AUTH,
    ),
    (
        re.compile(
            r"no such model|model .{0,120}(?:does not exist|not found)|invalid model name|server is pinned to",
            re.IGNORECASE,
        ),
        RefusalReason.NOT_FOUND,
    ),
)

_CODES: Mapping[str, RefusalReason] = {
    "context_length_exceeded": RefusalReason.LENGTH,
    "context_window_exceeded": RefusalReason.LENGTH,
    "contextwindowexceedederror": RefusalReason.LENGTH,
    "exceed_context_size_error": RefusalReason.LENGTH,
    "model_context_window_exceeded": RefusalReason.LENGTH,
    "3010": RefusalReason.LENGTH,
    "5021": RefusalReason.LENGTH,
    # Anthropic: 32 MB of request body. OpenAI: characters of one field.
    "request_too_large": RefusalReason.BYTES,
    "string_above_max_length": RefusalReason.BYTES,
    "3006": RefusalReason.BYTES,
    "rate_limit_error": RefusalReason.RATE,
    "rate_limit_exceeded": RefusalReason.RATE,
    "insufficient_quota": RefusalReason.RATE,
    "3036": RefusalReason.RATE,
    "overloaded": RefusalReason.OVERLOAD,
    "overloaded_error": RefusalReason.OVERLOAD,
    "timeout_error": RefusalReason.OVERLOAD,
    "3007": RefusalReason.OVERLOAD,
    "3008": RefusalReason.OVERLOAD,
    "3040": RefusalReason.OVERLOAD,
    "invalid_api_key": RefusalReason.AUTH,
    "authentication_error": RefusalReason.AUTH,
    "permission_error": RefusalReason.AUTH,
    "10000": RefusalReason.AUTH,
    "3023": RefusalReason.AUTH,
    "3041": RefusalReason.AUTH,
    "5016": RefusalReason.AUTH,
    "5018": RefusalReason.AUTH,
    "model_not_found": RefusalReason.NOT_FOUND,
    "not_found_error": RefusalReason.NOT_FOUND,
    "notfounderror": RefusalReason.NOT_FOUND,
    "3042": RefusalReason.NOT_FOUND,
    "5007": RefusalReason.NOT_FOUND,
    "server_error": RefusalReason.SERVER,
    "api_error": RefusalReason.SERVER,
    "internalservererror": RefusalReason.SERVER,
    "internal_server_error": RefusalReason.SERVER,
}
"""Machine codes, lower-cased. Four and five digits: Cloudflare (developers.cloudflare.com/workers-ai, errors)."""

_STATUSES: Mapping[int, RefusalReason] = {
    401: RefusalReason.AUTH,
    402: RefusalReason.RATE,
    403: RefusalReason.AUTH,
    404: RefusalReason.NOT_FOUND,
    407: RefusalReason.AUTH,
    408: RefusalReason.OVERLOAD,
    410: RefusalReason.NOT_FOUND,
    413: RefusalReason.BYTES,
    424: RefusalReason.SERVER,
    429: RefusalReason.RATE,
    503: RefusalReason.OVERLOAD,
    504: RefusalReason.OVERLOAD,
    529: RefusalReason.OVERLOAD,
}
_TOO_LARGE = 413
_FIRST_REDIRECT = 300
_FIRST_SERVER_ERROR = 500
_TOKENS = re.compile(r"\btokens?\b", re.IGNORECASE)


def classify(status: int, body: bytes, *, in_stream: bool = False) -> Refusal:
    """Say why a request was refused; never raises, keeps no text of the peer.

    Args:
        status: HTTP status of the answer; of a 2xx (an error frame or envelope) the status in the body counts instead.
        body: Error body or error frame, whole or cut; patterns see its first 16,384 characters of message text.
        in_stream: The error came as a frame inside a stream.
    """
    error = parse_error(body)
    reason = _reason(_effective_status(status, error), error)
    limits: set[int] = set()
    tokens: int | None = None
    if reason is RefusalReason.LENGTH:
        limits = {*stated_limits(error.text), *((error.context_tokens,) if error.context_tokens else ())}
        tokens = error.prompt_tokens or stated_tokens(error.text)
    return Refusal(
        reason=reason,
        code=_telling_code(error.codes),
        in_stream=in_stream,
        stated_limits=tuple(sorted(limits)),
        stated_tokens=tokens,
    )


def _effective_status(status: int, error: ErrorBody) -> int:
    """An error inside a 2xx answer that names no status is a breakdown after acceptance: 500."""
    return status if status >= _FIRST_REDIRECT else error.status or _FIRST_SERVER_ERROR


def _reason(status: int, error: ErrorBody) -> RefusalReason:
    if _RATE_TEXT.search(error.text):
        return RefusalReason.RATE
    if says_overflow(error.text):
        return RefusalReason.LENGTH
    for code in error.codes:
        if code.lower() in _CODES:
            return _CODES[code.lower()]
    for pattern, reason in _TEXTS:
        if pattern.search(error.text):
            return reason
    if status == _TOO_LARGE and _TOKENS.search(error.text):
        return RefusalReason.LENGTH
    return _STATUSES.get(status, RefusalReason.SERVER if status >= _FIRST_SERVER_ERROR else RefusalReason.OTHER)


def _telling_code(codes: tuple[str, ...]) -> str:
    """A known code before an unknown one, words before bare numbers: `context_length_exceeded` says more than `400`."""
    ranked = sorted(codes, key=lambda code: (code.lower() not in _CODES, code.isdecimal()))
    return ranked[0] if ranked else ""
