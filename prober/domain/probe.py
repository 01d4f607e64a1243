"""One request by one tenant, as a scenario plans it, and requests that are in flight together."""

import dataclasses
import enum

from prober.domain.canary import Canary
from prober.domain.options import PLAIN, RequestOptions, Trial
from prober.domain.target import Ask, TextForm
from prober.domain.tenant import Tenant


class Expectation(enum.Enum):
    """What a healthy target does with the probe."""

    SERVE = "serve"
    REJECT = "reject"
    EITHER = "either"
    """Too close to an unknown limit to say; an answer must still be sound."""


class ConnectionPolicy(enum.Enum):
    """FRESH: a client and TCP connection of its own. SHARED: the tenant's pooled, kept-alive client."""

    FRESH = "fresh"
    SHARED = "shared"


class Role(enum.Enum):
    """Why a probe is sent."""

    CALIBRATION = "calibration"
    DONOR = "donor"
    """Fills the pools with attributable text; its own answer is judged like any other."""
    ANCHOR = "anchor"
    """Times a verified prefill for the prefill floor."""
    CHECK = "check"
    """The probe the scenario exists for."""
    CONFIRMATION = "confirmation"
    """Immediate fresh re-probe after a first hit."""
    REFERENCE = "reference"
    """An undisturbed answer that later ones are compared with."""
    NEIGHBOUR = "neighbour"
    """Traffic that provokes the fault beside a CHECK: aborted, constrained, malformed; judged like any other."""
    LIVENESS = "liveness"
    """A plain generation after a storm: a target that no longer serves it is wedged."""


class DisconnectMoment(enum.Enum):
    """When our side hangs up on purpose."""

    BEFORE_HEADERS = "before_headers"
    MID_PREFILL = "mid_prefill"
    MID_STREAM = "mid_stream"
    AFTER_TOKENS = "after_tokens"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """A planned hang-up.

    BEFORE_HEADERS: `after_seconds` after the request started, while no header came. MID_PREFILL: `after_seconds` after
    the peer acknowledged the body, while no token came. MID_STREAM: `after_seconds` after the first token.
    AFTER_TOKENS: once `after_tokens` non-empty token frames came.
    """

    moment: DisconnectMoment
    after_seconds: float = 0.0
    after_tokens: int = 0


class SharedPlace(enum.Enum):
    """Where shared text stands in a prompt."""

    PREFIX = "prefix"
    """Before everything else: what a prefix cache can reuse."""
    MIDDLE = "middle"
    """Halfway in the filler: what only a cache of blocks in any position can reuse."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SharedText:
    """Filler lines that several prompts hold alike: the first lines of one canary's stream of its own for sharing."""

    source: Canary | None
    """Whose; None: the composed probe's own canary, which later probes may name."""
    lines: int
    place: SharedPlace = SharedPlace.PREFIX


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PromptSpec:
    """What text to compose.

    Either `tokens` (length as the server counts it; needs a calibration) or `filler_lines`, `instruction_lines`
    (exact structure, used to calibrate). `rewrite_of` composes the very text of an earlier probe's canary again
    with `pad_adjust` more (or fewer) one-token pad words: exact targeting where lines are not uniform. With
    `pad_adjust` 0 it replays that text byte for byte, by whichever tenant sends it. `shared` lines count among the
    filler lines of the prompt.
    """

    tokens: int | None = None
    filler_lines: int | None = None
    instruction_lines: int = 0
    form: TextForm = TextForm.WORD_STREAM
    ask: Ask = Ask.PHRASES_AND_COPY
    rewrite_of: Canary | None = None
    pad_adjust: int = 0
    shared: SharedText | None = None

    @property
    def is_replay(self) -> bool:
        """An earlier text, byte for byte."""
        return self.rewrite_of is not None and self.pad_adjust == 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One planned request."""

    label: str
    """Unique within the run, readable: `limit_sweep/0007`."""
    scenario: str
    tenant: Tenant
    role: Role
    prompt: PromptSpec
    expectation: Expectation
    max_output_tokens: int = 64
    stream: bool = True
    connection: ConnectionPolicy = ConnectionPolicy.FRESH
    start_offset_seconds: float = 0.0
    disconnect: Disconnect | None = None
    options: RequestOptions = PLAIN
    trial: Trial | None = None

    @property
    def is_over_limit(self) -> bool:
        """True for probes that a healthy target might or must refuse: they cap output and go one at a time."""
        return self.expectation is not Expectation.SERVE


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """Probes in flight together, each started `start_offset_seconds` after the wave began."""

    probes: tuple[Probe, ...]
    purpose: str
    """One plain sentence part for progress displays: `seed the pools`."""
