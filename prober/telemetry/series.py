"""Every Prometheus series of the prober: name, meaning, labels, and its value before anything happened.

Label values are target names and enum members only: no id, no text, nothing that grows with traffic. Every label set
exists from the start: a counter that is born at 1 shows `increase() == 0`, and the first leak would alert nobody.
"""

import enum
import itertools
from collections.abc import Iterable, Sequence

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from prober.domain.answer import Answer
from prober.domain.campaign import Trigger
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation

BAD_OUTCOMES = (Outcome.SUSPECT, Outcome.VIOLATION)
OTHER_COMPONENT = "other"
"""Stands for a component that was not announced at the start."""

NO_BOUND = 1.0
"""Of a leak rate nothing is known: 0 would claim perfection."""

_FIRST_TOKEN_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 90, 120, 180, 300, 600)
_PREFILL_BUCKETS = (100, 300, 1_000, 3_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000, 1.28e6, 1e7)

MISMATCHES = (
    *((Expectation.REJECT, answer) for answer in Answer if answer.is_served),
    *((Expectation.SERVE, answer) for answer in Answer if answer.is_rejected),
)
"""What was promised against what came: the pairs that contradict each other."""


class Series:
    """The series of one registry, every label set of every target created."""

    def __init__(self, registry: CollectorRegistry, targets: Iterable[str], components: Iterable[str]) -> None:
        # The extra `_created` samples double the exposition and carry no fact of ours.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]  # untyped upstream
        self._registry = registry
        self.probes = self._counter("probes", "Probes judged.", "target", "answer", "outcome")
        self.findings = self._counter("findings", "Suspect and violation findings.", "target", "reason", "outcome")
        self.inconclusive = self._counter(
            "inconclusive_findings", "Findings that could not be judged.", "target", "reason"
        )
        self.suspected_kinds = self._counter(
            "suspected_kinds",
            "The same findings, by the kind of fault they point to first.",
            "target",
            "fault_kind",
            "outcome",
        )
        self.mismatches = self._counter(
            "status_mismatches", "Answers against the target's contract.", "target", "expected", "got"
        )
        self.requests = self._counter("requests", "Requests sent.", "target")
        self.tokens = self._counter("tokens", "Tokens spent.", "target", "kind")
        self.runs = self._counter("runs", "Runs ended.", "target", "trigger", "outcome")
        self.errors = self._counter("internal_errors", "Faults of the prober itself.", "component")
        self.active = self._gauge("active_findings", "Findings not yet followed by a clean run.", "target", "outcome")
        self.running = self._gauge("run_in_progress", "1 while a run is going on.", "target")
        self.last_run = self._gauge("last_run_timestamp_seconds", "End of the latest run; 0: none.", "target")
        self.last_conclusive = self._gauge(
            "last_conclusive_run_timestamp_seconds", "End of the latest run that judged its target; 0: none.", "target"
        )
        self.last_outcome = self._gauge(
            "last_run_outcome", "1 for the outcome of the latest run, 0 for the others.", "target", "outcome"
        )
        self.budget_left = self._gauge("run_budget_left_tokens", "Left of the latest run's token cap.", "target")
        self.estimate = self._gauge("run_estimated_tokens", "Estimate for the latest run.", "target")
        self.leak_rate = self._gauge(
            "leak_rate_upper95",
            "95 % upper bound on leaks per probe by the latest run; 1: no bound.",
            "target",
            "trigger",
        )
        self.evidence = self._gauge(
            "evidence_bits", "Strongest evidence for a violation in the latest ended run, in bits.", "target"
        )
        self.limit = self._gauge(
            "enforced_limit_tokens",
            "Longest prompt that is served, as latest found to one page; 0: not found.",
            "target",
        )
        self.limit_found = self._gauge(
            "enforced_limit_timestamp_seconds", "When the enforced limit was latest found; 0: not found.", "target"
        )
        self.first_token = self._histogram(
            "time_to_first_token_seconds", "Request start to first non-empty token.", _FIRST_TOKEN_BUCKETS
        )
        self.prefill = self._histogram(
            "prefill_tokens_per_second", "Uncached prompt tokens by time to first token.", _PREFILL_BUCKETS
        )
        self.build = self._gauge("build_info", "1; the version stands in the label.", "version")
        for component in (*components, OTHER_COMPONENT):
            self.errors.labels(component)
        for target in targets:
            self.announce(target)

    def announce(self, target: str) -> None:
        """Create every label set of a target, counters and gauges at 0, its leak-rate bounds at 1 (no bound)."""
        for family, axes in self._axes():
            for values in itertools.product(*axes):
                family.labels(target, *values)
        for expected, answer in MISMATCHES:
            self.mismatches.labels(target, expected.value, answer.value)
        for trigger in Trigger:
            self.leak_rate.labels(target, trigger.value).set(NO_BOUND)

    def _axes(self) -> Sequence[tuple[Counter | Gauge | Histogram, Sequence[Sequence[str]]]]:
        """What each family is labelled with behind its target: every combination exists."""
        answers, outcomes, reasons, triggers, kinds = map(_values, (Answer, Outcome, Reason, Trigger, FaultKind))
        bad = [outcome.value for outcome in BAD_OUTCOMES]
        single = (self.requests, self.running, self.last_run, self.last_conclusive, self.budget_left, self.estimate)
        return (
            *((family, ()) for family in (*single, self.evidence, self.first_token, self.prefill)),
            *((family, ()) for family in (self.limit, self.limit_found)),
            (self.probes, (answers, outcomes)),
            (self.findings, (reasons, bad)),
            (self.suspected_kinds, (kinds, bad)),
            (self.inconclusive, (reasons,)),
            (self.tokens, (("prompt", "output"),)),
            (self.runs, (triggers, outcomes)),
            (self.active, (bad,)),
            (self.last_outcome, (outcomes,)),
        )

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"prober_{name}_total", meaning, labels, registry=self._registry)

    def _gauge(self, name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"prober_{name}", meaning, labels, registry=self._registry)

    def _histogram(self, name: str, meaning: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(f"prober_{name}", meaning, ("target",), registry=self._registry, buckets=buckets)


def _values(members: type[enum.Enum]) -> Sequence[str]:
    return [member.value for member in members]
