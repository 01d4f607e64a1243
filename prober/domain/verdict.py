"""A run's folded conclusion, and the facts every report is made of."""

import dataclasses
import datetime as dt

from prober.domain.answer import Answer
from prober.domain.campaign import Run
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.trace import UNTRACED, Trace


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a run concluded. Reasons are those of the findings that made the outcome, most weighty first."""

    outcome: Outcome
    reasons: tuple[Reason, ...]
    probes: int
    conclusive: int
    clean: int
    leak_rate_upper95: float | None
    """1 - 0.05**(1/clean): bound on the leak rate per probe of this trigger, target and build; None with no clean probe
    or after a violation."""
    evidence_bits: float
    """Largest of any violation finding."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSummary:
    """One line of a report about one probe."""

    label: str
    scenario: str
    role: str
    tenant: str
    canary: str
    request_id: str
    """The X-Request-Id it was sent with: how an operator finds it in the server's log."""
    planned_tokens: int | None
    prompt_tokens: int | None
    expectation: str
    status: int | None
    answer: Answer
    outcome: Outcome
    reasons: tuple[Reason, ...]
    first_token_seconds: float | None
    answer_sha256: str
    answer_characters: int
    trace: Trace = UNTRACED


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """Tokens and requests, estimated before and counted after."""

    requests: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens together: what the cap is about."""
        return self.prompt_tokens + self.output_tokens

    def __add__(self, other: "Spending") -> "Spending":
        """Sum field by field."""
        return Spending(
            requests=self.requests + other.requests,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LimitMap:
    """Where a length limit was found."""

    largest_served: int | None = None
    """Largest prompt (server's count) that was served soundly."""
    smallest_rejected: int | None = None
    first_wrong: int | None = None
    """Smallest prompt that was served although it should not have been, or served wrongly."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """The one set of facts that console, JSON and every later format render."""

    run: Run
    ended_at: dt.datetime
    verdict: Verdict
    findings: tuple[Finding, ...]
    """Worst first; CLEAN ones included."""
    probes: tuple[ProbeSummary, ...]
    estimate: Spending
    spent: Spending
    limits: LimitMap
    tenant_names: dict[int, str]
    """Tenant number -> name, to say whose text came out."""
    donor_labels: dict[str, str]
    """str(canary) -> label of the probe that sent it first, for canaries of this run."""
