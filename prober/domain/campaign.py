"""Configured intent, and one execution of it."""

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping

from prober.domain.target import Target
from prober.domain.tenant import Tenant


class Trigger(enum.Enum):
    """What started a run; bounds on leak rates never mix triggers."""

    SCHEDULE = "schedule"
    ROLLOUT = "rollout"
    MANUAL = "manual"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioSettings:
    """How much each scenario sends. Token figures are prompt tokens."""

    baseline_tokens: int | None = None
    """Size of the baseline's large probes; None: a quarter of the first rejected length."""
    baseline_probes: int = 3
    anchor_probes: int = 5
    """k timings for the prefill floor, at the baseline's large size."""
    seed_tokens: int | None = None
    """Canaried tokens to push through before over-limit probes; None: max(L, D - L) of known sizes, else 2 x limit."""
    donor_tokens: int | None = None
    """Size of one donor prompt; None: half the first rejected length, at most 400,000."""
    over_limit_probes: int = 2
    sweep_bisect: bool = True
    sweep_max_probes: int = 48
    over_limit_max_output_tokens: int = 64
    rounds: int = 8
    """Times a scenario that plays in rounds repeats its step."""
    concurrency: int = 8
    """Short probes in flight together, of all tenants; at least 2."""
    excluded_leak_rate: float | None = None
    """Per check, above 0 and below 1: rounds go on until so few leaks are excluded at 95 %. None: `rounds` are all."""
    park_tokens: int | None = None
    """Tokens that evict a parked session from the device; None: of the pool or context known, at most 400,000."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """What to run against which target."""

    target: Target
    tenants: tuple[Tenant, ...]
    scenarios: tuple[str, ...]
    settings: ScenarioSettings = ScenarioSettings()
    max_run_tokens: int = 25_000_000
    """Hard cap on prompt + answer tokens, enforced before the call that would pass it."""
    max_run_requests: int | None = None
    """Hard cap on requests, likewise; None: none."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One execution of a campaign."""

    run_id: str
    campaign: Campaign
    trigger: Trigger
    started_at: dt.datetime
    facts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Of the rollout that it is for, in the caller's words: service, revision, image; told, never judged."""
