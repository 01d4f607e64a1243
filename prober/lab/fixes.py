"""Upstream's repairs, and how a router joins the halves of a request."""

import enum


class Fix(enum.StrEnum):
    """A repair with machinery of its own. Other repairs are names that a fault lists in `FIXES`: they unmake it.

    A fix without its fault changes nothing but what its text says.
    """

    RETIRE_AFTER_FORWARD = "retire_after_forward"
    """The prefill retires a refused stub after its forward pass, before anything is sent (PR #36988, 0.5.20)."""
    REJECT_AT_DOOR = "reject_at_door"
    """Both queues refuse a stub when it arrives (PR #38935, 0.5.21)."""
    DEFERRED_RELEASE = "deferred_release"
    """Decode holds an aborted request's pages until the prefill drained, at most 30 s (PR #35049, on since 0.5.21)."""
    TRANSFER_CHECKSUM = "transfer_checksum"
    """Both roles digest the pages and decode refuses a mismatch with 500 (PR #39500, off unless asked for)."""
    FAIL_FAILED_LOADS = "fail_failed_loads"
    """A failed load from a cache tier ends its request with 500 (vLLM `kv_load_failure_policy: fail`)."""


class RouterMode(enum.Enum):
    """How the router joins the two halves of one request."""

    DECODE_ONLY = "decode_only"
    """SGLang's mini_lb: the client sees decode's answer and nothing of the prefill's."""
    JOIN = "join"
    """Waits for both halves, or for decode's refusal; then the prefill's refusal, when there is one, is the answer."""
    CANCEL_ON_REFUSAL = "cancel_on_refusal"
    """The prefill's refusal cancels decode and is the answer at once (PR #29017)."""
