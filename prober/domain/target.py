"""The endpoint and LLM under test: what it advertises, and what its operator promises for over-long prompts."""

import dataclasses
import enum

RESERVED_TOKENS = 6
"""SGLang serves prompts shorter than `min(context, pool) - 6`: `min(context-1, pool-1) - 5`, rejected from there on.

Source: managers/tp_worker.py `max_req_input_len` and managers/utils.py `validate_input_length` (0.5.19), PR #35421.
"""


class OverlongContract(enum.Enum):
    """What the operator promises for a prompt that does not fit."""

    REJECT = "reject"
    TRUNCATE = "truncate"
    """Auto-truncation is switched on by the operator: 200 with a smaller `prompt_tokens` is correct."""


class TextForm(enum.Enum):
    """Which of the two attributable text forms fills the prompt."""

    WORD_STREAM = "word_stream"
    NUMBERED_LINES = "numbered_lines"


class Ask(enum.Enum):
    """What a prompt asks of the LLM; chosen per target by what the LLM can do."""

    PHRASES_AND_COPY = "phrases_and_copy"
    """Three phrases, from head, middle and end of the prompt, then an echo of 30 words."""
    END_PHRASE = "end_phrase"
    """The end's phrase alone, stated three times: for small LLMs (docs/engines.md has their recall)."""
    ONE_FACT = "one_fact"
    """One phrase of six words, stated once: a short question whose answer names its prompt by itself."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PhysicalBound:
    """Least time a prefill can take at the hardware's peak; a target's setting, unset by default.

    seconds(n) = 2 * active_parameters * n / (gpus * peak_flops_per_gpu) * time_scale
    (detection-science 4, the linear term only, hence a true lower bound). time_scale < 1 is a simulated clock.
    """

    active_parameters: float
    gpus: int
    peak_flops_per_gpu: float
    time_scale: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One endpoint + LLM, as the pure layers know it: no address and no credential."""

    name: str
    model: str
    dialect: str
    context_tokens: int
    """Advertised context window, prompt and answer together."""
    prefill_pool_tokens: int | None = None
    """KV pool of the role that prefills; None when not known."""
    decode_pool_tokens: int | None = None
    page_tokens: int = 64
    overlong: OverlongContract = OverlongContract.REJECT
    shared: bool = True
    """Real customers are on it: one over-limit probe in flight, stop at the first confirmed violation."""
    text_form: TextForm = TextForm.WORD_STREAM
    ask: Ask = Ask.PHRASES_AND_COPY
    temperature: float = 0.0
    thinking: bool = False
    """The LLM reasons before it answers: an answer used up by reasoning is starved, not wrong."""
    physical_bound: PhysicalBound | None = None
    hang_seconds: float = 330.0
    """No byte for so long is a hang; above SGLang's 300 s disaggregation waiting time-out."""
    build: str = ""
    """Label of the build under test; bounds on leak rates never mix builds."""

    @property
    def first_rejected_tokens(self) -> int:
        """Shortest prompt that must be refused, from the limits that are known."""
        known = [self.context_tokens]
        if self.prefill_pool_tokens is not None:
            known.append(self.prefill_pool_tokens)
        return min(known) - RESERVED_TOKENS
