"""Prometheus metrics of runs: what happened, counted; never what was said."""

from collections.abc import Iterable, Mapping, Sequence

from prometheus_client import CollectorRegistry

from prober.domain.answer import Answer
from prober.domain.budget import Shortage
from prober.domain.campaign import Run
from prober.domain.evidence import Judgement
from prober.domain.finding import Finding
from prober.domain.outcome import Outcome
from prober.domain.probe import Wave
from prober.domain.target import OverlongContract
from prober.domain.verdict import RunReport, Spending
from prober.telemetry.series import BAD_OUTCOMES, MISMATCHES, NO_BOUND, OTHER_COMPONENT, Series


class Metrics:
    """Publishes runs as Prometheus series into a registry of the caller's. Satisfies `runner.ports.Telemetry`.

    Args:
        registry: Registry to create the series in; one `Metrics` per registry.
        targets: Names of the configured targets, whose label sets exist from the start.
        components: Names that `internal_error` may be called with; others are counted as `other`.
        version: Version of the prober, for the build info.
    """

    def __init__(
        self, registry: CollectorRegistry, *, targets: Iterable[str], components: Iterable[str], version: str
    ) -> None:
        self._components = frozenset(components)
        self._targets = frozenset(targets)
        self._series = Series(registry, sorted(self._targets), sorted(self._components))
        self._series.build.labels(version).set(1)

    def restore_active(self, counts: Mapping[tuple[str, Outcome], int]) -> None:
        """Begin with what an earlier process left: issues that count, by target and outcome; unknown targets aside."""
        for (target, outcome), count in counts.items():
            if target in self._targets and outcome in BAD_OUTCOMES:
                self._series.active.labels(target, outcome.value).set(count)

    def announce(self, target: str) -> None:
        """Create every label set of a target that is new."""
        self._series.announce(target)

    def run_started(self, run: Run, estimate: Spending) -> None:
        """Show the run as going on, with its estimate and its whole budget."""
        target = run.campaign.target.name
        self._series.running.labels(target).set(1)
        self._series.estimate.labels(target).set(estimate.tokens)
        self._show_budget(run, Spending())

    def budget_short(self, run: Run, shortages: Sequence[Shortage]) -> None:
        """Nothing: budgets have series of their own."""

    def wave_started(self, run: Run, wave: Wave, spent: Spending) -> None:  # noqa: ARG002  (part of the port)
        """Show what is left of the budget."""
        self._show_budget(run, spent)

    def probe_judged(self, run: Run, judgement: Judgement, spent: Spending) -> None:
        """Count a probe, its findings and its cost at once: a leak must not wait for the run's end."""
        target, series = run.campaign.target.name, self._series
        answer, expected = judgement.evidence.answer, judgement.evidence.probe.expectation
        series.probes.labels(target, answer.value, judgement.outcome.value).inc()
        series.requests.labels(target).inc(spent.requests)
        series.tokens.labels(target, "prompt").inc(spent.prompt_tokens)
        series.tokens.labels(target, "output").inc(spent.output_tokens)
        is_promised = answer is Answer.TRUNCATED and run.campaign.target.overlong is OverlongContract.TRUNCATE
        if (expected, answer) in MISMATCHES and not is_promised:
            series.mismatches.labels(target, expected.value, answer.value).inc()
        self._count_findings(target, judgement.findings)
        self._observe_timing(target, judgement)

    def run_ended(self, report: RunReport) -> None:
        """Publish the verdict."""
        run, verdict, series = report.run, report.verdict, self._series
        target, trigger, ended = run.campaign.target.name, run.trigger.value, report.ended_at.timestamp()
        series.running.labels(target).set(0)
        series.runs.labels(target, trigger, verdict.outcome.value).inc()
        series.last_run.labels(target).set(ended)
        if verdict.outcome is not Outcome.INCONCLUSIVE:
            series.last_conclusive.labels(target).set(ended)
        for outcome in Outcome:
            series.last_outcome.labels(target, outcome.value).set(outcome is verdict.outcome)
        bound = NO_BOUND if verdict.leak_rate_upper95 is None else verdict.leak_rate_upper95
        series.leak_rate.labels(target, trigger).set(bound)
        series.evidence.labels(target).set(verdict.evidence_bits)
        # Findings about single probes were counted when they were made.
        self._count_findings(target, [finding for finding in report.findings if not finding.probe_label])
        self._settle_active(target, report)
        self._show_limit(report)
        self._show_budget(run, report.spent)

    def database_awaited(self, run: Run, why: str, seconds: float) -> None:
        """Nothing: the log tells of it, and `/readyz` asks the database itself."""

    def database_back(self, run: Run, seconds: float) -> None:
        """Nothing, likewise."""

    def internal_error(self, component: str, error: BaseException) -> None:  # noqa: ARG002  (part of the port)
        """Count a fault of our own."""
        known = component if component in self._components else OTHER_COMPONENT
        self._series.errors.labels(known).inc()

    def _count_findings(self, target: str, findings: Iterable[Finding]) -> None:
        series = self._series
        for finding in findings:
            if finding.outcome is Outcome.INCONCLUSIVE:
                series.inconclusive.labels(target, finding.reason.value).inc()
            elif finding.outcome in BAD_OUTCOMES:
                series.findings.labels(target, finding.reason.value, finding.outcome.value).inc()
                for kind in finding.kinds[:1]:
                    series.suspected_kinds.labels(target, kind.value, finding.outcome.value).inc()
                series.active.labels(target, finding.outcome.value).inc()

    def _settle_active(self, target: str, report: RunReport) -> None:
        """Only a clean run closes findings; an inconclusive one leaves them open, a bad one puts its own in place."""
        for outcome in BAD_OUTCOMES:
            count = sum(finding.outcome is outcome for finding in report.findings)
            if count or report.verdict.outcome is Outcome.CLEAN:
                self._series.active.labels(target, outcome.value).set(count)

    def _show_limit(self, report: RunReport) -> None:
        """Show the limit where this run found it to one page; other runs leave what was found before."""
        target, limits = report.run.campaign.target, report.limits
        if limits.largest_served is None or limits.smallest_rejected is None:
            return
        if 0 < limits.smallest_rejected - limits.largest_served <= target.page_tokens:
            self._series.limit.labels(target.name).set(limits.largest_served)
            self._series.limit_found.labels(target.name).set(report.ended_at.timestamp())

    def _observe_timing(self, target: str, judgement: Judgement) -> None:
        """Observe answers whose timing can be trusted; rates need the server's own token count."""
        observation = judgement.evidence.observation
        first_token, usage = observation.timeline.first_token, observation.usage
        if not judgement.evidence.answer.is_served or not observation.timeline.is_trusted or not first_token:
            return
        self._series.first_token.labels(target).observe(first_token)
        computed = (usage.prompt_tokens or 0) - (usage.cached_tokens or 0)
        if computed > 0:
            self._series.prefill.labels(target).observe(computed / first_token)

    def _show_budget(self, run: Run, spent: Spending) -> None:
        left = max(0, run.campaign.max_run_tokens - spent.tokens)
        self._series.budget_left.labels(run.campaign.target.name).set(left)
