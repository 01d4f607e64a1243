"""The one set of facts."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from prober.domain.exits import Exit, FailOn
from prober.domain.fault_kind import FaultKind
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.report.facts import facts_of
from tests.support.reports import a_clean_report, a_leak, a_probe_summary, a_report, report_of


def finding(outcome: Outcome, reason: Reason, label: str = "", **changes: object) -> Finding:
    return dataclasses.replace(
        a_leak(outcome=outcome, reason=reason, probe_label=label, sightings=(), message="m"), **changes
    )


def test_what_decided_the_verdict_is_read_first():
    """Groups go by outcome, then in the verdict's own order of reasons."""
    report = a_report(
        findings=(
            finding(Outcome.INCONCLUSIVE, Reason.BUSY, "baseline/0001"),
            finding(Outcome.VIOLATION, Reason.SERVED_OVER_LIMIT, "baseline/0002"),
            a_leak(),
        )
    )

    assert [(group.outcome, group.reason) for group in facts_of(report).groups] == [
        (Outcome.VIOLATION, Reason.FOREIGN_CANARY),
        (Outcome.VIOLATION, Reason.SERVED_OVER_LIMIT),
        (Outcome.INCONCLUSIVE, Reason.BUSY),
    ]


def test_planned_hang_ups_weigh_nothing():
    """They went as intended, and make no scenario undecided."""
    hung = finding(Outcome.INCONCLUSIVE, Reason.ABANDONED, "baseline/0001")
    fine = finding(Outcome.CLEAN, Reason.SERVED, "baseline/0002")
    facts = facts_of(dataclasses.replace(a_clean_report(), findings=(hung, fine)))

    assert facts.groups == ()
    assert {scenario.name: scenario.outcome for scenario in facts.scenarios}["baseline"] is Outcome.CLEAN


def test_scenarios_are_told_in_the_campaigns_order_with_their_counts():
    """Calibration before them, each with its own outcome and counts; one that sent nothing is not judged."""
    probes = (
        a_probe_summary(label="calibration/0001", scenario="calibration", role="calibration", outcome=Outcome.CLEAN),
        a_probe_summary(label="baseline/0001", scenario="baseline", outcome=Outcome.CLEAN),
        a_probe_summary(label="baseline/0002", scenario="baseline", outcome=Outcome.INCONCLUSIVE),
    )
    findings = (
        finding(Outcome.CLEAN, Reason.SERVED, "calibration/0001"),
        finding(Outcome.CLEAN, Reason.SERVED, "baseline/0001"),
        finding(Outcome.INCONCLUSIVE, Reason.BUSY, "baseline/0002"),
    )
    told = facts_of(a_report(probes=probes, findings=findings)).scenarios

    assert [(each.name, each.word, each.probes, each.conclusive, each.clean) for each in told] == [
        ("calibration", "clean", 1, 0, 0),
        ("baseline", "inconclusive", 2, 1, 1),
        ("seed_and_probe", "not judged", 0, 0, 0),
    ]


def test_findings_of_pruned_probes_stay_with_their_scenario():
    """A label is scenario and number: the scenario is known although the probe is gone."""
    facts = facts_of(a_report(probes=()))

    assert [(each.name, each.word) for each in facts.scenarios] == [
        ("baseline", "not judged"),
        ("seed_and_probe", "violation"),
    ]
    assert facts.missing_probes == 9


def test_the_surest_leak_is_told_in_a_sentence():
    """Asker, request, donor and certainty; a probe that is not listed is still told of."""
    weak = a_leak(evidence_bits=26.0, probe_label="other/0001")

    assert facts_of(a_report(findings=(weak, a_leak()))).leak_sentence.startswith(
        "The answer to tenant alpha's request seed_and_probe/0003 held text of tenant bravo"
    )
    assert facts_of(a_report(findings=(weak,))).leak_sentence.startswith("The answer to a tenant's request other/0001")
    assert facts_of(a_clean_report()).leak_sentence == ""


def test_kinds_are_counted():
    """The most often suspected first."""
    leaks = (
        a_leak(kinds=(FaultKind.CACHE_KEY, FaultKind.LIVE_WRITER)),
        a_leak(kinds=(FaultKind.LIVE_WRITER,)),
    )

    assert facts_of(a_report(findings=leaks)).kinds == ((FaultKind.LIVE_WRITER, 2), (FaultKind.CACHE_KEY, 1))


def test_many_places_are_counted_not_named():
    """A group says where in a few words."""
    leaks = tuple(a_leak(probe_label=f"limit_sweep/{number:04d}") for number in range(6))
    (group,) = facts_of(a_report(findings=leaks)).groups

    assert group.where.endswith("limit_sweep/0003 and 2 more")
    assert len(group.places) == 6


def test_a_failure_is_what_the_caller_takes_for_one():
    """`--fail-on` decides on suspicion alone."""
    report = report_of(Outcome.SUSPECT)

    assert facts_of(report).exit is Exit.UNDECIDED
    assert facts_of(report, FailOn.SUSPECT).exit is Exit.VIOLATION
    assert not facts_of(report, FailOn.SUSPECT).fails(Outcome.INCONCLUSIVE)


@given(st.lists(st.tuples(st.sampled_from(Outcome), st.sampled_from(["", "baseline/0001", "other/0001"])), max_size=6))
def test_no_scenario_is_worse_than_the_verdict(drawn: list[tuple[Outcome, str]]):
    """The verdict is the worst of all, so a reader of the table never finds worse in it."""
    findings = tuple(finding(outcome, Reason.SERVED, label) for outcome, label in drawn)
    report = a_report(findings=findings)
    worst = max((outcome.rank for outcome, _ in drawn), default=0)

    assert all(each.outcome is None or each.outcome.rank <= worst for each in facts_of(report).scenarios)
