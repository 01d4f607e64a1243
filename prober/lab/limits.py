"""Length limits and the words in which SGLang refuses (managers/tokenizer_manager.py, managers/utils.py, 0.5.19)."""

from prober.lab.events import Rejection, Stage

_ERROR = "BadRequestError"
_SERVER_ERROR = "InternalServerError"


def largest_input(context: int, pool: int) -> int:
    """First prompt length that a scheduler refuses: min(context - 1, pool - 1) - 5."""
    return min(context - 1, pool - 1) - 5


def door_refusal(tokens: int, max_tokens: int, context: int) -> Rejection | None:
    """The tokenizer's check, against the context alone; None lets the request in."""
    if tokens >= context:
        message = f"The input ({tokens} tokens) is longer than the model's context length ({context} tokens)."
    elif tokens + max_tokens > context:
        message = (
            f"Requested token count exceeds the model's maximum context length of {context} tokens. "
            f"You requested a total of {tokens + max_tokens} tokens: {tokens} tokens from the input messages and "
            f"{max_tokens} tokens for the completion. Please reduce the number of tokens in the input messages or "
            "the completion to fit within the limit."
        )
    else:
        return None
    return Rejection(status=400, message=message, error_type=_ERROR, stage=Stage.TOKENIZER)


def length_refusal(tokens: int, largest: int) -> Rejection:
    """A scheduler's refusal, against its pool."""
    message = (
        f"Input length ({tokens} tokens) exceeds the maximum allowed length ({largest} tokens). "
        "Use a shorter input or enable --allow-auto-truncate."
    )
    return Rejection(status=400, message=message, error_type=_ERROR, stage=Stage.SCHEDULER)


def late_refusal(message: str) -> Rejection:
    """A scheduler's refusal of a request whose form it cannot serve, a grammar that does not compile for one."""
    return Rejection(status=400, message=message, error_type=_ERROR, stage=Stage.SCHEDULER)


def waiting_timeout(room: int, seconds: float) -> Rejection:
    """Decode gave up on the prefill."""
    message = f"Decode transfer failed for request. Request {room} timed out after {seconds:.1f}s in WaitingForInput"
    return server_error(message)


def checksum_mismatch(room: int) -> Rejection:
    """Decode's digest of the pages is not the prefill's."""
    return server_error(f"KV checksum mismatch bootstrap_room={room}")


def metadata_mismatch(room: int, found: int) -> Rejection:
    """The metadata slot was written by another request."""
    message = f"Context corruption detected: Request {room} received metadata from bootstrap_room={found}"
    return server_error(message)


def server_error(message: str) -> Rejection:
    """Any 500 of a scheduler."""
    return Rejection(status=500, message=message, error_type=_SERVER_ERROR, stage=Stage.SCHEDULER)
