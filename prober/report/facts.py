"""The one set of facts that every format renders: a run's report, made harmless, counted and grouped once."""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

from prober.domain.exits import Exit, FailOn, settle
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome, worst
from prober.domain.probe import Role
from prober.domain.verdict import ProbeSummary, RunReport
from prober.report.attribution import attributions, sentence
from prober.report.harmless import harmless_throughout

KINDS_NAMED = 2
MAX_PROBES_NAMED = 4
"""More probes with one and the same reason are counted, not named, where room is short."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Findings of one outcome and reason; never empty."""

    outcome: Outcome
    reason: Reason
    findings: tuple[Finding, ...]

    @property
    def strongest(self) -> Finding:
        """The one with the most evidence."""
        return max(self.findings, key=lambda finding: finding.evidence_bits)

    @property
    def places(self) -> tuple[str, ...]:
        """Labels of their probes, each once."""
        return tuple(dict.fromkeys(finding.probe_label or "the run as a whole" for finding in self.findings))

    @property
    def where(self) -> str:
        """The first few of them, and how many more."""
        more = len(self.places) - MAX_PROBES_NAMED
        return ", ".join(self.places[:MAX_PROBES_NAMED]) + (f" and {more} more" if more > 0 else "")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFacts:
    """What came of one scenario, the calibration included."""

    name: str
    outcome: Outcome | None
    """None: nothing of it was judged, since it sent nothing or what it sent is no longer kept."""
    probes: int
    conclusive: int
    clean: int
    groups: tuple[Group, ...]
    """Of what is not clean, the worst first."""

    @property
    def word(self) -> str:
        """The outcome's word."""
        return "not judged" if self.outcome is None else self.outcome.value


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A run's report with what formats count and group. Every string in it is harmless, and none is marked up."""

    report: RunReport
    fail_on: FailOn
    exit: Exit
    groups: tuple[Group, ...]
    """Of all findings that weigh and are not clean, in the verdict's own order."""
    run_groups: tuple[Group, ...]
    """Those of them about the run as a whole."""
    scenarios: tuple[ScenarioFacts, ...]
    """In the order of the campaign; what it does not name, such as the calibration, before them."""
    probes: Mapping[str, ProbeSummary]
    """By label, which is unique within the run."""

    @property
    def outcome(self) -> Outcome:
        """The verdict's."""
        return self.report.verdict.outcome

    @property
    def target(self) -> str:
        """Its name."""
        return self.report.run.campaign.target.name

    @property
    def headline(self) -> str:
        """Target and reasons in one line."""
        reasons = ", ".join(reason.value for reason in self.report.verdict.reasons)
        return f"{self.target}: {reasons}" if reasons and self.outcome is not Outcome.CLEAN else self.target

    @property
    def leak(self) -> Finding | None:
        """The most certain violation that names whose text came out."""
        leaks = [
            finding
            for group in self.groups
            for finding in group.findings
            if finding.sightings and finding.outcome is Outcome.VIOLATION
        ]
        return max(leaks, key=lambda finding: finding.evidence_bits, default=None)

    @property
    def leak_sentence(self) -> str:
        """Whose text came out in whose answer, in the most certain case; empty where none did."""
        leak = self.leak
        if leak is None:
            return ""
        asker = self.probes.get(leak.probe_label)
        who = f"tenant {asker.tenant}" if asker is not None else "a tenant"
        donor = sentence(attributions(self.report, leak)[0])
        return f"The answer to {who}'s request {leak.probe_label} held {donor}."

    @property
    def missing_probes(self) -> int:
        """Probes that the verdict counts and the ledger no longer keeps."""
        return max(0, self.report.verdict.probes - len(self.report.probes))

    @property
    def kinds(self) -> tuple[tuple[FaultKind, int], ...]:
        """Suspected kinds of fault with the number of findings that name them, the most often named first."""
        named = collections.Counter(
            kind for group in self.groups for finding in group.findings for kind in finding.kinds
        )
        return tuple(sorted(named.items(), key=lambda item: (-item[1], list(FaultKind).index(item[0]))))

    def fails(self, outcome: Outcome) -> bool:
        """Whether an outcome is what the caller takes for a failure: exit code 1."""
        return settle(outcome, self.fail_on) is Exit.VIOLATION


def facts_of(report: RunReport, fail_on: FailOn = FailOn.VIOLATION) -> Facts:
    """Count and group a report.

    Args:
        report: of a run that has just ended, or read back from the ledger.
        fail_on: from which outcome on the caller takes the run for failed.
    """
    safe = harmless_throughout(report)
    weighing = [finding for finding in safe.findings if finding.reason is not Reason.ABANDONED]
    reasons = safe.verdict.reasons
    return Facts(
        report=safe,
        fail_on=fail_on,
        exit=settle(safe.verdict.outcome, fail_on),
        groups=_groups(weighing, reasons),
        run_groups=_groups([finding for finding in weighing if not finding.probe_label], reasons),
        scenarios=_scenarios(safe, weighing),
        probes={probe.label: probe for probe in safe.probes},
    )


def _groups(findings: Iterable[Finding], weighty: Sequence[Reason] = ()) -> tuple[Group, ...]:
    """Group what is not clean by outcome and reason; what decided the verdict is read first."""

    def kind(finding: Finding) -> tuple[int, int, str]:
        place = weighty.index(finding.reason) if finding.reason in weighty else len(weighty)
        return (-finding.outcome.rank, place, finding.reason.value)

    notable = sorted((finding for finding in findings if finding.outcome is not Outcome.CLEAN), key=kind)
    return tuple(
        Group(outcome=members[0].outcome, reason=members[0].reason, findings=members)
        for members in (tuple(each) for _, each in itertools.groupby(notable, key=kind))
    )


def _scenarios(report: RunReport, weighing: Sequence[Finding]) -> tuple[ScenarioFacts, ...]:
    scenario_of = {probe.label: probe.scenario for probe in report.probes}
    sent: dict[str, list[ProbeSummary]] = collections.defaultdict(list)
    for probe in report.probes:
        sent[probe.scenario].append(probe)
    found: dict[str, list[Finding]] = collections.defaultdict(list)
    for finding in weighing:
        if finding.probe_label:
            # A probe that was pruned has left its label: scenario and number.
            found[scenario_of.get(finding.probe_label) or finding.probe_label.rpartition("/")[0]].append(finding)
    planned = report.run.campaign.scenarios
    others = [name for name in dict.fromkeys((*sent, *found)) if name not in planned]
    return tuple(_scenario(name, sent[name], found[name], report) for name in (*others, *planned))


def _scenario(
    name: str, probes: Sequence[ProbeSummary], findings: Sequence[Finding], report: RunReport
) -> ScenarioFacts:
    conclusive = [
        probe for probe in probes if probe.outcome is not Outcome.INCONCLUSIVE and probe.role != Role.CALIBRATION.value
    ]
    return ScenarioFacts(
        name=name,
        outcome=worst(finding.outcome for finding in findings) if findings else None,
        probes=len(probes),
        conclusive=len(conclusive),
        clean=sum(probe.outcome is Outcome.CLEAN for probe in conclusive),
        groups=_groups(findings, report.verdict.reasons),
    )
