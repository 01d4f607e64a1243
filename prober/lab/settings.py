"""What one lab cluster is made of."""

import dataclasses
import enum
from collections.abc import Mapping

from prober.lab.fixes import Fix, RouterMode
from prober.lab.gateway_settings import GatewaySettings
from prober.lab.tokenizer import PREAMBLE
from prober.lab.usage import UsageStyle

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
    paraphrase_rate: float = 0.0
    """Per answer: other plain words around the phrases, which stay as they are."""
    looping_rate: float = 0.0
    """Per answer: it does not stop, and repeats its last words."""
    overthinking_rate: float = 0.0
    """Per answer: reasoning uses up the whole budget and nothing is left for the answer."""
    batch_variation_rate: float = 0.0
    """Per answer with neighbours in the batch, at any temperature: other connective words or another order."""
    load_failure_rate: float = 0.0
    """Per load from a cache tier: it fails, and the pages are computed instead."""
    queue_rate: float = 0.0
    """Per request: it waits before its prefill begins, as behind others in a queue."""
    queue_seconds: float = 0.0
    """Longest such wait; virtual, each is drawn between 0 and this."""
    slow_tail_rate: float = 0.0
    """Per request: it waits very long."""
    slow_tail_seconds: float = 0.0
    """Longest such wait; virtual, each is drawn between half of this and all."""
    usage_style: UsageStyle = UsageStyle.COUNTED
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
    preamble: str = PREAMBLE
    """What the chat template puts ahead of every conversation; part of an LLM's token counts."""
    version: str = "0.5.21"
    """Of the inference engine that is played; shown by `/server_info`, decides nothing."""
    context_tokens: int = 1_048_576
    prefill_pool_tokens: int = 681_280
    decode_pool_tokens: int = 1_100_032
    """The pool of the one role when aggregated is `prefill_pool_tokens`."""
    page_tokens: int = 64
    chunked_prefill_tokens: int = 8_192
    max_running: int = 64
    """Rows of the batch: answers that are decoded at the same time; whoever finds none free waits."""
    accept_length: float = 1.0
    """Tokens per decode step on average, as speculative decoding accepts them; 1: no speculation."""
    overcommit: bool = False
    """Admit on room for the prompt and a page: when the pool runs short, the youngest row is retracted."""
    topology: Topology = Topology.DISAGGREGATED
    prefix_cache: bool = False
    """Keep the pages of finished prompts for those that begin alike; aggregated topology only."""
    host_tokens: int = 0
    """Room of the host tier, which pages that are evicted from the device go to; 0: there is none."""
    disk_tokens: int = 0
    """Room of the disk tier below it, which outlives the cluster; 0: there is none."""
    staging_tokens: int | None = None
    """Host memory that all loads share on their way to the device; None: as much as the context."""
    load_seconds_per_page: float = 1e-4
    """From the host tier into the device; the disk takes ten times as long."""
    store_seconds_per_page: float = 1e-4
    """From the device into the host tier; the disk takes ten times as long."""
    faults: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Name in `lab.faults.FAULTS` -> rate, above 0 and at most 1."""
    fixes: frozenset[str] = frozenset()
    """`Fix` members, or names that faults list in their `FIXES`."""
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
    """None: a fast link, or with `early_release` a congested one, on which late bytes stay late for seconds."""
    unacknowledged_seconds: float = 0.0
    """How much longer a chunk takes once decode has left: what nobody acknowledges is tried again (SGLang #35049: pages
    were given on after 0.03 s and written for 3.5 s more)."""
    seed: int = 0
    backends: int = 1
    """Like clusters behind the gateway (replicas, or data-parallel ranks): the model group `model`."""
    other_groups: tuple["LabSettings", ...] = ()
    """One cluster each, serving model groups of other names at the same gateway; sizes, LLM and version are theirs,
    faults, fixes, clock and seed are these."""
    gateway: GatewaySettings = dataclasses.field(default_factory=GatewaySettings)
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
        self._check_cache()
        if self.max_running < 1 or self.accept_length < 1:
            raise ValueError("max_running and accept_length must be at least 1")
        if self.backends < 1 or len(set(self.groups)) < len(self.groups):
            raise ValueError("backends must be at least 1, and every model group needs a name of its own")
        if self.time_scale <= 0:
            raise ValueError("time_scale must be above 0")

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of all model groups, its own first."""
        return (self.model, *(group.model for group in self.other_groups))

    def _check_cache(self) -> None:
        if self.prefix_cache and self.topology is not Topology.AGGREGATED:
            raise ValueError("prefix_cache needs the aggregated topology")
        if min(self.host_tokens, self.disk_tokens, self.load_seconds_per_page, self.store_seconds_per_page) < 0:
            raise ValueError("sizes and times of the cache tiers must be at least 0")
        if self.staging_tokens is not None and self.staging_tokens < self.page_tokens:
            raise ValueError("staging_tokens must be at least a page")

    @property
    def link_seconds_per_token(self) -> float:
        """Virtual seconds that one token's KV is on the wire between the roles."""
        if self.transfer_seconds_per_token is not None:
            return self.transfer_seconds_per_token
        return CONGESTED_LINK_SECONDS if "early_release" in self.faults else FAST_LINK_SECONDS


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The switches that make the cluster behave like one upstream version."""

    version: str
    faults: Mapping[str, float]
    fixes: frozenset[str]

    def apply(self, settings: LabSettings) -> LabSettings:
        """Return the settings with this version's faults and fixes, all else unchanged."""
        return dataclasses.replace(settings, version=self.version, faults=self.faults, fixes=self.fixes)


_UPSTREAM_FAULTS = {"stub_handoff": 1.0, "early_release": 1.0}
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
