"""The course of runs as log lines."""

from collections.abc import Callable, Sequence

from prober.domain.budget import Shortage
from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
from prober.domain.finding import Finding
from prober.domain.outcome import Outcome
from prober.domain.probe import Wave
from prober.domain.verdict import RunReport, Spending
from prober.telemetry.logs import Log


class RunLog:
    """Writes runs into a log. Satisfies `runner.ports.Telemetry`."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def run_started(self, run: Run, estimate: Spending) -> None:
        """Say what runs against what, and what it may cost."""
        self._log.info(
            "run_started",
            run_id=run.run_id,
            target=run.campaign.target.name,
            build=run.campaign.target.build,
            trigger=run.trigger,
            scenarios=run.campaign.scenarios,
            tenants=[tenant.name for tenant in run.campaign.tenants],
            estimated_requests=estimate.requests,
            estimated_tokens=estimate.tokens,
            max_tokens=run.campaign.max_run_tokens,
        )

    def budget_short(self, run: Run, shortages: Sequence[Shortage]) -> None:
        """Warn that the run may not come to its end."""
        self._log.warning(
            "budget_short",
            run_id=run.run_id,
            target=run.campaign.target.name,
            caps=[str(shortage) for shortage in shortages],
        )

    def wave_started(self, run: Run, wave: Wave, spent: Spending) -> None:
        """Say which probes go out."""
        self._log.debug(
            "wave_started",
            run_id=run.run_id,
            target=run.campaign.target.name,
            purpose=wave.purpose,
            probes=[probe.label for probe in wave.probes],
            spent_tokens=spent.tokens,
        )

    def probe_judged(self, run: Run, judgement: Judgement, spent: Spending) -> None:
        """Say what came back and what was concluded, as loud as the outcome is bad."""
        evidence = judgement.evidence
        observation = evidence.observation
        self._write(judgement.outcome)(
            "probe_judged",
            run_id=run.run_id,
            target=run.campaign.target.name,
            probe=evidence.probe.label,
            role=evidence.probe.role,
            tenant=evidence.probe.tenant.name,
            canary=str(evidence.prompt.canary),
            outcome=judgement.outcome,
            answer=evidence.answer,
            status=observation.status,
            failure=observation.failure,
            planned_tokens=evidence.prompt.planned_tokens,
            prompt_tokens=observation.usage.prompt_tokens,
            first_token_seconds=observation.timeline.first_token,
            answer_sha256=evidence.reading.sha256,
            answer_characters=evidence.reading.characters,
            spent_tokens=spent.tokens,
            findings=[_finding(finding) for finding in judgement.findings if finding.outcome is not Outcome.CLEAN],
        )

    def run_ended(self, report: RunReport) -> None:
        """Say what was concluded in the end."""
        verdict = report.verdict
        self._write(verdict.outcome, clean=self._log.info)(
            "run_ended",
            run_id=report.run.run_id,
            target=report.run.campaign.target.name,
            outcome=verdict.outcome,
            reasons=verdict.reasons,
            probes=verdict.probes,
            conclusive=verdict.conclusive,
            leak_rate_upper95=verdict.leak_rate_upper95,
            evidence_bits=verdict.evidence_bits,
            spent_requests=report.spent.requests,
            spent_tokens=report.spent.tokens,
        )

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        """Say what the run stands still for, and for how long yet at most."""
        self._log.warning(
            "database_awaited",
            run_id=run.run_id,
            target=run.campaign.target.name,
            reason=why,
            seconds_left=round(seconds, 1),
        )

    def database_back(self, run: Run, seconds: float) -> None:
        """Say that it goes on, with nothing lost."""
        self._log.info(
            "database_back", run_id=run.run_id, target=run.campaign.target.name, waited_seconds=round(seconds, 1)
        )

    def internal_error(self, component: str, error: BaseException) -> None:
        """Say which part of ours failed, and how."""
        self._log.error("internal_error", component=component, error=error)

    def _write(self, outcome: Outcome, clean: Callable[..., object] | None = None) -> Callable[..., object]:
        """Pick the level that an outcome deserves."""
        return {
            Outcome.CLEAN: clean or self._log.debug,
            Outcome.INCONCLUSIVE: self._log.info,
            Outcome.SUSPECT: self._log.warning,
            Outcome.VIOLATION: self._log.error,
        }[outcome]


def _finding(finding: Finding) -> dict[str, object]:
    """A finding's own facts; its message is ours and holds no answer text."""
    return {
        "detector": finding.detector,
        "outcome": finding.outcome,
        "reason": finding.reason,
        "message": finding.message,
        "evidence_bits": finding.evidence_bits,
        "foreign_canaries": [str(sighting.canary) for sighting in finding.sightings],
    }
