"""What runs look like to callers."""

import datetime as dt
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from prober.domain.campaign import Trigger
from prober.domain.finding import Reason
from prober.domain.job import Job, JobState
from prober.domain.outcome import Outcome
from prober.domain.verdict import Spending
from prober.service.api.parameters import Input, Name, Output, PrintableLine
from prober.store.rows import StoredRun

MOST_SCENARIOS = 64
MOST_FACTS = 16
Fact = Annotated[str, Field(max_length=256, pattern=PrintableLine)]
FactName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


class RunOrder(Input):
    """A run to start."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"target": "glm"},
                {
                    "target": "glm",
                    "trigger": "rollout",
                    "scenarios": ["baseline", "seed_and_probe"],
                    "max_tokens": 5_000_000,
                    "rollout": {"build": "2026-09-09", "commit": "4f43dbe"},
                },
            ]
        }
    )

    target: Name
    """Target of the configuration."""
    trigger: Literal["manual", "rollout"] = "manual"
    """What it is asked for."""
    scenarios: Annotated[tuple[Name, ...], Field(max_length=MOST_SCENARIOS)] = ()
    """Scenarios to run, in this order; empty: those of the configuration."""
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000_000_000)] | None = None
    """Most tokens that it may cost, prompts and answers together; at most what the configuration allows."""
    rollout: Annotated[dict[FactName, Fact], Field(max_length=MOST_FACTS, default_factory=dict)]
    """Facts of the rollout (build, commit, checksum, URL): stored and given back, never judged."""


class SpendingShape(Output):
    """Tokens and requests."""

    requests: int
    prompt_tokens: int
    output_tokens: int
    tokens: int

    @classmethod
    def of(cls, spending: Spending) -> "SpendingShape":
        """Show it."""
        return cls(
            requests=spending.requests,
            prompt_tokens=spending.prompt_tokens,
            output_tokens=spending.output_tokens,
            tokens=spending.tokens,
        )


class BoundShape(Output):
    """What a run with no violation excludes."""

    probes: int
    """Probes judged."""
    conclusive: int
    """Of these, such that could be judged."""
    clean: int
    leak_rate_upper95: float | None
    """Upper bound on the leak rate per probe at 95 %; null without a clean probe, and after a violation."""


class RunShape(Output):
    """A run that was asked for."""

    id: str
    """Of the run as it was asked for: what this API is asked by."""
    state: JobState
    """`done`: it has a verdict; `cancelled`: before it began; `missed`: a slot of a schedule that nobody could run."""
    target: str
    trigger: Trigger
    requested_by: str
    """Name of the API token, or `schedule`."""
    queued_at: dt.datetime | None
    ended_at: dt.datetime | None
    verdict: Outcome | None
    """`clean`, `inconclusive`, `suspect`, `violation`; null while there is none."""
    run_id: str | None
    """Of the latest attempt, as reports and findings name it."""
    attempts: int
    """How often a replica began it; more than one where a replica was lost."""
    is_cancel_requested: bool
    note: str
    """Why it was missed, cancelled or taken over."""


class RunDetail(RunShape):
    """A run with what came of it."""

    scenarios: list[str]
    max_tokens: int | None
    rollout: dict[str, str]
    started_at: dt.datetime | None
    """When the latest attempt began."""
    reasons: list[Reason]
    """Of the verdict, the most weighty first; docs/reasons.md explains each."""
    bound: BoundShape | None
    """Null until it ended, and where it was given up."""
    spent: SpendingShape | None
    """Null until it ended, and where it was given up."""


def shape_of(job: Job) -> RunShape:
    """Show a job in a list."""
    return RunShape.model_validate(_of_job(job))


def detail_of(job: Job, run: StoredRun | None) -> RunDetail:
    """Show a job with its latest attempt, where it had one."""
    request = job.request
    return RunDetail.model_validate(
        {
            **_of_job(job),
            "scenarios": list(request.scenarios) or ([] if run is None else list(run.scenarios)),
            "max_tokens": request.max_run_tokens,
            "rollout": dict(request.facts),
            **_of_run(run),
        }
    )


def detail_of_run(run: StoredRun) -> RunDetail:
    """Show a run of the command line, which no queue has seen."""
    return RunDetail.model_validate(
        {
            "id": run.run_id,
            "state": JobState.RUNNING if run.ended_at is None else JobState.DONE,
            "target": run.target,
            "trigger": run.trigger or Trigger.MANUAL,
            "requested_by": "",
            "queued_at": None,
            "ended_at": run.ended_at,
            "verdict": run.outcome,
            "run_id": run.run_id,
            "attempts": 1,
            "is_cancel_requested": False,
            "note": "",
            "scenarios": list(run.scenarios),
            "max_tokens": None,
            "rollout": {},
            **_of_run(run),
        }
    )


def _of_job(job: Job) -> Mapping[str, object]:
    return {
        "id": job.job_id,
        "state": job.state,
        "target": job.request.target,
        "trigger": job.request.trigger,
        "requested_by": job.request.requested_by,
        "queued_at": job.queued_at,
        "ended_at": job.ended_at,
        "verdict": job.outcome,
        "run_id": job.run_id,
        "attempts": job.attempts,
        "is_cancel_requested": job.is_cancel_requested,
        "note": job.note,
    }


def _of_run(run: StoredRun | None) -> Mapping[str, object]:
    if run is None:
        return {"started_at": None, "reasons": [], "bound": None, "spent": None}
    return {
        "started_at": run.started_at,
        "reasons": list(run.reasons),
        "bound": _bound(run),
        "spent": None if run.spent is None else SpendingShape.of(run.spent),
    }


def _bound(run: StoredRun) -> BoundShape | None:
    if run.probes is None or run.conclusive is None or run.clean is None:
        return None
    return BoundShape(
        probes=run.probes, conclusive=run.conclusive, clean=run.clean, leak_rate_upper95=run.leak_rate_upper95
    )
