"""The configuration file's keys. Every one of them is explained in docs/configuration.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from prober.config import rules
from prober.config.budgets import SECTIONS, BudgetSettings, OverallBudgetSettings, PriceSettings, WindowSettings
from prober.config.notifications import ReceiverSettings
from prober.config.retention import RetentionSettings
from prober.config.schedules import ScheduleSettings, ServiceSettings
from prober.config.secret import Secret
from prober.config.section import Section
from prober.config.serving import ApiSettings
from prober.config.vault import VaultSettings
from prober.domain.campaign import ScenarioSettings
from prober.domain.canary import TENANT_BITS
from prober.domain.target import Ask, OverlongContract, TextForm

DEFAULT_DATABASE = "sqlite+aiosqlite:///prober.db"

Name = Annotated[str, AfterValidator(rules.name)]
"""Names stand in metrics, file names and reports."""

Tokens = Annotated[int, Field(ge=1, le=1_000_000_000)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


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
    url: Annotated[str, AfterValidator(rules.url)] | None = None
    """The target's address for this account, where the account stands in it."""


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
    rounds: Annotated[int, Field(ge=1, le=100_000)] = ScenarioSettings().rounds
    """Times a scenario that plays in rounds repeats its step."""
    concurrency: Annotated[int, Field(ge=2, le=256)] = ScenarioSettings().concurrency
    """Short probes in flight together, of all tenants."""
    excluded_leak_rate: Annotated[float, Field(ge=1e-5, le=0.5, allow_inf_nan=False)] | None = None
    """Leak rate per check that rounds go on to exclude."""
    park_tokens: Tokens | None = None
    """Tokens that evict a parked session from the device."""


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
    session_header: Annotated[str, AfterValidator(rules.header_name)] = "x-session-affinity"
    """Header that carries a probe's affinity key."""
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
    max_run_requests: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None
    """Most requests one run may send."""
    tokens_per_minute: Tokens | None = None
    """Rate of prompt and answer tokens of all tenants together."""
    tenant_tokens_per_minute: Tokens | None = None
    """Rate of prompt and answer tokens of one tenant."""
    budgets: BudgetSettings = BudgetSettings()
    """What runs together may cost by the hour and the day."""
    prices: PriceSettings | None = None
    """What tokens cost."""
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
    budgets: OverallBudgetSettings = OverallBudgetSettings()
    """What all targets together may cost."""
    api: ApiSettings = ApiSettings()
    """HTTP API of the service."""
    vault: VaultSettings = VaultSettings()
    """Evidence vault."""
    retention: RetentionSettings = RetentionSettings()
    """How long what is kept."""
    notifications: dict[str, ReceiverSettings] = Field(default_factory=dict)
    """Who is told about issues and rollouts, by name."""
    schedules: dict[str, ScheduleSettings] = Field(default_factory=dict)
    """When the service runs by itself, by name."""
    service: ServiceSettings = ServiceSettings()
    """How a replica of the service behaves."""


_ANY: Final = "*"

_NAMED: Final = (["targets"], ["schedules"], ["notifications"])
"""Sections whose keys are names that the user gives."""

_SECTIONS: Final[Mapping[tuple[str, ...], type[Section]]] = {
    (): Settings,
    ("targets", _ANY): TargetSettings,
    ("targets", _ANY, "tenants", _ANY): TenantSettings,
    ("targets", _ANY, "physical_bound"): PhysicalBoundSettings,
    ("targets", _ANY, "settings"): ProbingSettings,
    ("targets", _ANY, "prices"): PriceSettings,
    ("targets", _ANY, "budgets"): BudgetSettings,
    **{("targets", _ANY, "budgets", window): WindowSettings for window in SECTIONS},
    ("budgets",): OverallBudgetSettings,
    **{("budgets", window): WindowSettings for window in SECTIONS},
    ("api",): ApiSettings,
    ("vault",): VaultSettings,
    ("retention",): RetentionSettings,
    ("notifications", _ANY): ReceiverSettings,
    ("schedules", _ANY): ScheduleSettings,
    ("service",): ServiceSettings,
}
"""Place -> what stands there; `_ANY` is a name or an index."""


def section_at(location: Sequence[str | int]) -> type[Section] | None:
    """Section whose keys stand at a location of the file; None where there is none."""
    for place, section in _SECTIONS.items():
        if len(place) == len(location) and all(
            step in {_ANY, given} for step, given in zip(place, location, strict=True)
        ):
            return section
    return None


def known_part(location: Sequence[str | int]) -> tuple[str | int, ...]:
    """Longest beginning of a location made of the schema's keys, names of targets and schedules, and indices."""
    known: list[str | int] = []
    for step in location:
        section = section_at(known)
        is_key = section is not None and step in section.model_fields
        is_name = known in _NAMED and isinstance(step, str) and rules.is_name(step)
        if not (is_key or is_name or isinstance(step, int)):
            break
        known.append(step)
    return tuple(known)
