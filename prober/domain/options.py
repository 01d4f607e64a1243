"""What a request asks for beside its prompt: identity, caching, constraints, and faults of ours on purpose."""

import dataclasses
import enum


class Malformation(enum.Enum):
    """A documented cause of a 4xx, sent on purpose: a healthy target refuses it and keeps nothing of it."""

    NO_MESSAGES = "no_messages"
    UNKNOWN_ROLE = "unknown_role"
    UNKNOWN_PART = "unknown_part"
    """A content part of a type that no server knows (stands for a broken image)."""
    NEGATIVE_MAX_TOKENS = "negative_max_tokens"
    TEMPERATURE_OUT_OF_RANGE = "temperature_out_of_range"
    TOP_P_OUT_OF_RANGE = "top_p_out_of_range"
    BROKEN_SCHEMA = "broken_schema"
    """A JSON schema that cannot be compiled into a grammar: refused late, by the scheduler."""
    BROKEN_LOGIT_BIAS = "broken_logit_bias"
    OUTPUT_BEYOND_CONTEXT = "output_beyond_context"
    """`max_tokens` larger than the context window."""
    BROKEN_JSON = "broken_json"
    """A body that ends in the middle."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """Beside the prompt; the default asks for nothing and sends no field."""

    request_id: str | None = None
    """Sent as X-Request-Id instead of a random one: twins of two tenants share it on purpose."""
    session: str | None = None
    """Affinity key, sent in the target's session header."""
    cache_salt: str | None = None
    """`cache_salt` of vLLM and SGLang: isolates prefix cache entries."""
    choices: tuple[str, ...] = ()
    """Constrained decoding: the answer must be one of these (`response_format` with an enum schema)."""
    favoured_token: int | None = None
    """Token id with a logit bias of +100: the answer repeats it. What it reads like is not known beforehand."""
    reasoning_budget: int | None = None
    """Tokens of reasoning at most, at least 1; then the answer has to begin. Asked only of targets that think."""
    wants_logprobs: bool = False
    """Ask for the log probabilities of the answer's tokens: their texts must add up to the answer."""
    malformation: Malformation | None = None


PLAIN = RequestOptions()
"""A request that asks for nothing beside its prompt."""


class Arm(enum.Enum):
    """Side of a comparison that a probe is on."""

    PRIME = "prime"
    """Puts into a cache what HIT looks for."""
    HIT = "hit"
    MISS = "miss"
    CONTROL = "control"
    """The positive control: the effect is legitimate here and must show."""
    REFERENCE = "reference"
    """The undisturbed first answer, or the answer before a rollout."""
    CHECK = "check"
    """What is compared with REFERENCE."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Place of a probe in a comparison of several probes; detectors find its fellows by it."""

    series: str
    """What is compared, unique within the run: `cache_sharing/prefix/unsalted`, `drift`."""
    number: int
    """Fellows that belong together share it; counts up from 1."""
    arm: Arm
    cohort: str = ""
    """Affinity key or replica label where cohorts are compared."""
