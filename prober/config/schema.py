"""The configuration file's keys. Every one of them is explained in docs/configuration.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from prober.config import rules
from prober.config.secret import Secret
from prober.domain.campaign import ScenarioSettings
from prober.domain.canary import TENANT_BITS
from prober.domain.target import Ask, OverlongContract, TextForm

DEFAULT_DATABASE = "sqlite+aiosqlite:///prober.db"

Name = Annotated[str, AfterValidator(rules.name)]
"""Names stand in metrics, file names and reports."""

Tokens = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Section(BaseModel):
    """Frozen; unknown keys are refused; no error text shows an input."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True, validate_default=True
    )


class TenantSettings(Section):
    """One synthetic account."""

    name: Name
    """Shown in reports and metrics."""
    number: Annotated[int, Field(ge=0, lt=1 << TENANT_BITS)] | None = None
    """Carried in canary text; fixed by hand where several instances share a key."""
    credential: Annotated[Secret, AfterValidator(rules.credential)] | None = None
    """API key; usually `${SOME_VARIABLE}`."""
    credential_file: Path | None = None
    """File that holds the API key."""


class PhysicalBoundSettings(Section):
    """What the hardware can do at most."""

    active_parameters: Positive
    """Parameters at work per token."""
    gpus: Annotated[int, Field(ge=1)]
    """GPUs that prefill one prompt together."""
    peak_flops_per_gpu: Positive
    """Dense peak of one GPU, operations per second."""
    time_scale: Positive = 1.0
    """Below 1 for a simulated clock."""


class ProbingSettings(Section):
    """How much each scenario sends; token figures are prompt tokens."""

    baseline_tokens: Tokens | None = None
    """Size of the baseline's large probes."""
    baseline_probes: Annotated[int, Field(ge=1, le=1000)] = ScenarioSettings().baseline_probes
    """Probes of the baseline."""
    anchor_probes: Annotated[int, Field(ge=1, le=1000)] = ScenarioSettings().anchor_probes
    """Timings for the prefill floor."""
    seed_tokens: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    """Canary text to push through before over-limit probes."""
    donor_tokens: Tokens | None = None
    """Size of one donor prompt."""
    over_limit_probes: Annotated[int, Field(ge=1, le=1000)] = ScenarioSettings().over_limit_probes
    """Over-limit probes per run."""
    sweep_bisect: bool = ScenarioSettings().sweep_bisect
    """Search the limit to the token."""
    sweep_max_probes: Annotated[int, Field(ge=1, le=1000)] = ScenarioSettings().sweep_max_probes
    """Most probes one sweep may send."""
    over_limit_max_output_tokens: Annotated[int, Field(ge=1, le=64)] = ScenarioSettings().over_limit_max_output_tokens
    """Output cap of over-limit probes; 64 at most, since what comes back may be a customer's."""


class TargetSettings(Section):
    """One endpoint and LLM under test."""

    url: Annotated[str, AfterValidator(rules.url)]
    """http(s) address up to where the dialect's path begins."""
    dialect: Annotated[str, AfterValidator(rules.dialect)]
    """How to talk to it."""
    model: Annotated[str, AfterValidator(rules.llm_name)]
    """The LLM's name, as requests carry it."""
    context_tokens: Annotated[int, Field(ge=64, le=1_000_000_000)]
    """Advertised context window, prompt and answer together."""
    prefill_pool_tokens: Tokens | None = None
    """KV pool of the role that prefills."""
    decode_pool_tokens: Tokens | None = None
    """KV pool of the role that decodes."""
    page_tokens: Annotated[int, Field(ge=1, le=65_536)] = 64
    """Tokens per KV page."""
    overlong: OverlongContract = OverlongContract.REJECT
    """What the operator promises for a prompt that does not fit."""
    shared: bool = True
    """Real customers are on it."""
    text_form: TextForm = TextForm.WORD_STREAM
    """Form of the canary text."""
    ask: Ask = Ask.PHRASES_AND_COPY
    """What prompts ask of the LLM."""
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.0
    """Sampling temperature of all probes."""
    thinking: bool = False
    """The LLM reasons before it answers."""
    physical_bound: PhysicalBoundSettings | None = None
    """Least time a prefill can take."""
    hang_seconds: Seconds = 330.0
    """No byte for so long is a hang."""
    deadline_seconds: Seconds = 1800.0
    """Longest time for one whole probe."""
    build: Annotated[str, AfterValidator(rules.label)] = ""
    """Label of the build under test."""
    proxy: Annotated[Secret, AfterValidator(rules.proxy)] | None = None
    """HTTP proxy; may carry user and password."""
    ca_file: Path | None = None
    """PEM file that replaces the public authorities."""
    client_cert: Path | None = None
    """PEM file with the client's certificate chain."""
    client_key: Path | None = None
    """PEM file with the client's key."""
    headers: Annotated[dict[str, Secret], AfterValidator(rules.headers)] = Field(default_factory=dict)
    """Further request headers."""
    body: Annotated[dict[str, Any], AfterValidator(rules.body)] = Field(default_factory=dict, repr=False)
    """Further fields of the request body."""
    user_agent: Annotated[str, AfterValidator(rules.header_value)] | None = None
    """Replaces the prober's own, which says what it is."""
    max_in_flight: Annotated[int, Field(ge=1, le=256)] = 8
    """Requests of one tenant in flight together."""
    starts_per_period: Annotated[int, Field(ge=1, le=100_000)] = 10
    """Requests one tenant may start per period."""
    period_seconds: Seconds = 1.0
    """The period."""
    max_run_tokens: Annotated[int, Field(ge=1, le=1_000_000_000_000)] = 25_000_000
    """Most tokens, prompt and answer together, one run may cost."""
    tenants: tuple[TenantSettings, ...]
    """At least two accounts."""
    scenarios: tuple[Annotated[str, AfterValidator(rules.scenario)], ...] | None = None
    """Shapes of traffic to run; all known ones where left out."""
    settings: ProbingSettings = ProbingSettings()
    """How much each scenario sends."""


class Settings(Section):
    """The whole file."""

    version: Literal[1]
    """Version of this format."""
    key_file: Path
    """Canary keyring."""
    database: Annotated[Secret, AfterValidator(rules.database)] = Secret(DEFAULT_DATABASE)
    """Database URL; may carry a password."""
    database_url_file: Path | None = None
    """File that holds the database URL."""
    targets: dict[str, TargetSettings]
    """Endpoints under test, by name."""


def section_at(location: Sequence[str | int]) -> type[Section] | None:
    """Section whose keys stand at a location of the file; None where there is none."""
    match tuple(location):
        case ():
            return Settings
        case ("targets", _):
            return TargetSettings
        case ("targets", _, "tenants", _):
            return TenantSettings
        case ("targets", _, "physical_bound"):
            return PhysicalBoundSettings
        case ("targets", _, "settings"):
            return ProbingSettings
        case _:
            return None


def known_part(location: Sequence[str | int]) -> tuple[str | int, ...]:
    """Longest beginning of a location that is made of the schema's keys, names of targets and indices only."""
    known: list[str | int] = []
    for step in location:
        section = section_at(known)
        is_key = section is not None and step in section.model_fields
        is_target = known == ["targets"] and isinstance(step, str) and rules.is_name(step)
        if not (is_key or is_target or isinstance(step, int)):
            break
        known.append(step)
    return tuple(known)
