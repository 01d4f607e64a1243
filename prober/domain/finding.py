"""A detector's conclusion about one probe. Holds ids, counts and our own words only, so that it may go anywhere."""

import dataclasses
import enum

from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.domain.reading import Sighting


class Reason(enum.Enum):
    """Stable reason codes: stored, exported, documented. One meaning each."""

    FOREIGN_CANARY = "foreign_canary"
    FOREIGN_FRAGMENTS = "foreign_fragments"
    LATE_ECHO = "late_echo"
    """Foreign canary of a past run or epoch: stale storage rather than live mixing."""
    FOREIGN_TEXT = "foreign_text"
    SERVED_OVER_CONTEXT = "served_over_context"
    SERVED_OVER_LIMIT = "served_over_limit"
    REJECTED_AS_DUE = "rejected_as_due"
    REJECTED_BELOW_LIMIT = "rejected_below_limit"
    SERVED = "served"
    TRUNCATED = "truncated"
    REROUTED = "rerouted"
    PREFILL_TOO_FAST = "prefill_too_fast"
    PREFILL_PLAUSIBLE = "prefill_plausible"
    TIMING_UNTRUSTED = "timing_untrusted"
    RECALL_OK = "recall_ok"
    RECALL_MISSED = "recall_missed"
    RECALL_COLLAPSED = "recall_collapsed"
    REFUSED_BY_LLM = "refused_by_llm"
    USAGE_AS_PREDICTED = "usage_as_predicted"
    USAGE_MISMATCH = "usage_mismatch"
    USAGE_MISSING = "usage_missing"
    CACHE_HIT_ON_NEW_TEXT = "cache_hit_on_new_text"
    """Reported cached tokens rose above the endpoint's own baseline on text that was never sent before."""
    CACHE_SHARED = "cache_shared"
    """One tenant's prompt was answered from another tenant's prefix cache entries."""
    CACHE_ISOLATED = "cache_isolated"
    DUPLICATE_RESPONSE_ID = "duplicate_response_id"
    NEAR_DUPLICATE_ANSWER = "near_duplicate_answer"
    """Two tenants with different facts got (nearly) the same answer."""
    REPLAY_EQUAL = "replay_equal"
    REPLAY_DIVERGED = "replay_diverged"
    """The same bytes were answered differently than before, beyond what batching explains."""
    GARBLED = "garbled"
    TOKENS_DOUBLED = "tokens_doubled"
    LOST_UNDER_LOAD = "lost_under_load"
    """What is recalled alone is not recalled beside others."""
    DRIFTED = "drifted"
    """Reference probes are answered worse than at the run's start."""
    COHORT_DIFFERS = "cohort_differs"
    """One affinity key or replica persistently answers unlike the others."""
    VOCABULARY_COLLAPSED = "vocabulary_collapsed"
    """A free answer keeps to another request's constraint."""
    REASONING_CUT = "reasoning_cut"
    """Free answers reason exactly as long as another request's budget allowed that one."""
    STREAM_BROKEN = "stream_broken"
    """One stream holds two answers: ids, endings, openings or log probabilities disagree."""
    SERVED_INVALID = "served_invalid"
    """A request that had to be refused for its form was answered."""
    REFUSED_AS_DUE = "refused_as_due"
    WEDGED = "wedged"
    """After a storm, plain generations no longer come back."""
    EMPTY_ANSWER = "empty_answer"
    STARVED = "starved"
    ERROR_IN_STREAM = "error_in_stream"
    MALFORMED = "malformed"
    HANG = "hang"
    BUSY = "busy"
    UNAUTHORISED = "unauthorised"
    NOT_FOUND = "not_found"
    TOO_MANY_BYTES = "too_many_bytes"
    SERVER_ERROR = "server_error"
    REFUSED_OTHERWISE = "refused_otherwise"
    UNREACHABLE = "unreachable"
    ABANDONED = "abandoned"
    DETECTOR_CRASHED = "detector_crashed"
    INTERNAL_ERROR = "internal_error"
    BUDGET_EXHAUSTED = "budget_exhausted"
    INTERRUPTED = "interrupted"
    TOO_FEW_SAMPLES = "too_few_samples"
    CALIBRATION_FAILED = "calibration_failed"
    ONE_ACCOUNT = "one_account"
    """Two tenants are one account: that nothing passes between them proves nothing."""
    SELFTEST_FAILED = "selftest_failed"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One conclusion. `message` is ours: it may name sizes, limits, tenants and canaries, never answer text."""

    detector: str
    outcome: Outcome
    reason: Reason
    message: str
    probe_label: str = ""
    """Empty for findings about the run as a whole."""
    evidence_bits: float = 0.0
    sightings: tuple[Sighting, ...] = ()
    is_confirmed: bool = False
    """Stands by itself (a decoded canary), or was seen again on an immediate re-probe."""
    kinds: tuple[FaultKind, ...] = ()
    """Suspected kinds of fault, the likeliest first; empty for CLEAN and for what points to none."""
