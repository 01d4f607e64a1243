"""What one lab cluster is made of."""

import dataclasses
import enum
from collections.abc import Mapping

from prober.lab.faults import Fault, Fix, RouterMode

FAST_LINK_SECONDS = 3e-6
"""About 80 kB of latent KV per token at 25 GB/s."""
CONGESTED_LINK_SECONDS = 3e-4
"""A hundredth of that: transfers then end about when the prefill of 700,000 tokens does."""


class Topology(enum.Enum):
    """One pool for both phases, or one pool per phase."""

    DISAGGREGATED = "disaggregated"
    AGGREGATED = "aggregated"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Honesty:
    """How an honest LLM and an honest machine fall short; every rate is 0..1 and 0 by default."""

    copy_error_rate: float = 0.0
    """Per copied word: substituted, deleted, doubled or misspelt."""
    recall_miss_head: float = 0.0
    recall_miss_middle: float = 0.0
    recall_miss_end: float = 0.0
    """Per asked phrase, by where it stands: the first 10 % of the text seen, the last 10 %, or between."""
    recall_scale_tokens: int = 0
    """Length at which the miss rates hold in full; shorter texts miss in proportion. 0: the same at any length."""
    refusal_rate: float = 0.0
    """Per request: a polite refusal instead of an answer."""
    shuffle_rate: float = 0.0
    """Per answer at temperature > 0: the asked phrases come in another order."""
    reasoning_words: int = 0
    """Words of reasoning before the answer; they count against `max_tokens`."""
    timing_noise: float = 0.0
    """0: exact timing; 1: the spread measured on real endpoints (see `timing.noise_ratio`)."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """A population of ordinary customers; their prompts are plain English and carry nothing attributable."""

    customers: int = 0
    """0: nobody keeps coming; pools that are not fresh are still warmed up once."""
    prompt_tokens: int = 20_000
    """Size of a typical prompt; each is drawn between half and twice of it."""
    requests_per_minute: float = 6.0
    """Of all customers together, in real (not virtual) minutes, while the cluster runs."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LabSettings:
    """One cluster. Sizes are tokens; times are virtual seconds unless they say otherwise.

    Default sizes are the incident's: served below `min(context - 1, pool - 1) - 5`, so 681,273 fits and 681,274 does
    not, while decode would take both.
    """

    model: str = "lab-llm"
    version: str = "0.5.21"
    """Of the inference engine that is played; shown by `/server_info`, decides nothing."""
    context_tokens: int = 1_048_576
    prefill_pool_tokens: int = 681_280
    decode_pool_tokens: int = 1_100_032
    """The pool of the one role when aggregated is `prefill_pool_tokens`."""
    page_tokens: int = 64
    chunked_prefill_tokens: int = 8_192
    topology: Topology = Topology.DISAGGREGATED
    faults: frozenset[Fault] = frozenset()
    fixes: frozenset[Fix] = frozenset()
    router: RouterMode = RouterMode.CANCEL_ON_REFUSAL
    auto_truncate: bool = False
    is_fresh: bool = True
    """Pools hold zeros at the start; False: customers' text fills them before the first request."""
    background: Background = Background()
    honesty: Honesty = Honesty()
    time_scale: float = 1 / 150
    """Real seconds per virtual second."""
    waiting_timeout_seconds: float = 300.0
    """How long decode waits for a prefill (SGLANG_DISAGGREGATION_WAITING_TIMEOUT)."""
    release_timeout_seconds: float = 30.0
    """How long deferred release waits for the drained acknowledgement."""
    abort_notice_seconds: float = 20.0
    """How long a prefill goes on after its client has gone, before it notices."""
    transfer_seconds_per_token: float | None = None
    """None: a fast link, or a congested one with EARLY_RELEASE, on which late bytes stay late for seconds."""
    seed: int = 0
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """API key -> tenant."""

    def __post_init__(self) -> None:
        """Refuse sizes that no cluster can have."""
        if self.page_tokens < 1 or self.chunked_prefill_tokens % self.page_tokens:
            raise ValueError("chunked_prefill_tokens must be a multiple of page_tokens, which must be at least 1")
        for name in ("context_tokens", "prefill_pool_tokens", "decode_pool_tokens"):
            if getattr(self, name) < 8 * self.page_tokens:
                message = f"{name} must be at least eight pages of {self.page_tokens} tokens"
                raise ValueError(message)
        if self.prefill_pool_tokens % self.page_tokens or self.decode_pool_tokens % self.page_tokens:
            raise ValueError("pools must be whole pages")
        if self.time_scale <= 0:
            raise ValueError("time_scale must be above 0")

    @property
    def link_seconds_per_token(self) -> float:
        """Virtual seconds that one token's KV is on the wire between the roles."""
        if self.transfer_seconds_per_token is not None:
            return self.transfer_seconds_per_token
        return CONGESTED_LINK_SECONDS if Fault.EARLY_RELEASE in self.faults else FAST_LINK_SECONDS


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The switches that make the cluster behave like one upstream version."""

    version: str
    faults: frozenset[Fault]
    fixes: frozenset[Fix]

    def apply(self, settings: LabSettings) -> LabSettings:
        """Return the settings with this version's faults and fixes, all else unchanged."""
        return dataclasses.replace(settings, version=self.version, faults=self.faults, fixes=self.fixes)


_UPSTREAM_FAULTS = frozenset({Fault.STUB_HANDOFF, Fault.EARLY_RELEASE})
PRESETS: Mapping[str, Preset] = {
    preset.version: preset
    for preset in (
        Preset(version="0.5.19", faults=_UPSTREAM_FAULTS, fixes=frozenset()),
        Preset(version="0.5.20", faults=_UPSTREAM_FAULTS, fixes=frozenset({Fix.RETIRE_AFTER_FORWARD})),
        Preset(
            version="0.5.21",
            faults=_UPSTREAM_FAULTS,
            fixes=frozenset({Fix.RETIRE_AFTER_FORWARD, Fix.REJECT_AT_DOOR, Fix.DEFERRED_RELEASE}),
        ),
    )
}


def preset(version: str) -> Preset:
    """Look up the switches of an SGLang version: 0.5.19, 0.5.20 or 0.5.21.

    Raises:
        ValueError: for any other version.
    """
    try:
        return PRESETS[version]
    except KeyError:
        message = f"no preset for version {version!r}; known: {', '.join(PRESETS)}"
        raise ValueError(message) from None
