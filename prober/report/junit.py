"""JUnit XML: one test case per scenario, and one for the run as a whole. Nothing undecided is a passed test.

Case by case as exit codes go: what makes the run exit with 1 is a failure, what makes it exit with 3 an error. CI
servers count both as red, and a skipped test as neither; skipped is only what sent nothing, beside a case that is not.
Dialect: what Jenkins' xunit plugin, GitLab and GitHub's test reporters read (testsuites, testsuite, testcase).
"""

import dataclasses
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from prober.domain.outcome import Outcome
from prober.report.advice import advice_on
from prober.report.facts import Facts, Group, ScenarioFacts
from prober.report.wording import MEANINGS, bound_words, certainty, count_words, spending_words

RUN_CASE = "run"
MOST_FINDINGS = 50
"""Of one test case; the JSON report has all."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    name: str
    kind: str
    """`passed`, `failure`, `error` or `skipped`."""
    head: str = ""
    """Type, then message."""
    reasons: str = ""
    body: str = ""
    seconds: float = 0.0


def render(facts: Facts) -> str:
    """Render as UTF-8 XML text."""
    cases = [_run_case(facts), *(_scenario_case(facts, scenario) for scenario in facts.scenarios)]
    report = facts.report
    seconds = (report.ended_at - report.run.started_at).total_seconds()
    counts = _counts(cases)
    began = quoteattr(f"{report.run.started_at:%Y-%m-%dT%H:%M:%S}")
    named = f"name={quoteattr(facts.target)} id={quoteattr(report.run.run_id)}"
    suite = f'{named} {counts} time="{seconds:.3f}" timestamp={began}'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="isolation-prober" {counts} time="{seconds:.3f}">',
        f"  <testsuite {suite}>",
        *_properties(facts),
        *(line for case in cases for line in _lines(facts, case)),
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _run_case(facts: Facts) -> _Case:
    """The run as a whole: fails by its own findings, or where no scenario shows what the verdict is."""
    shown = {scenario.outcome for scenario in facts.scenarios}
    own = max((group.outcome for group in facts.run_groups), key=lambda outcome: outcome.rank, default=Outcome.CLEAN)
    outcome = own if facts.outcome in shown and facts.outcome is not own else facts.outcome
    reasons = facts.run_groups or facts.groups
    return _case(facts, RUN_CASE, outcome, reasons, 0.0)


def _scenario_case(facts: Facts, scenario: ScenarioFacts) -> _Case:
    spans = [
        (probe.trace.sent_at, probe.trace.end_seconds or 0.0)
        for probe in facts.report.probes
        if probe.scenario == scenario.name and probe.trace.sent_at is not None
    ]
    seconds = 0.0
    if spans:
        began = min(sent for sent, _ in spans)
        seconds = max((sent - began).total_seconds() + took for sent, took in spans)
    if scenario.outcome is None:
        why = "its probes are no longer kept" if facts.missing_probes else "it sent nothing that was judged"
        return _Case(name=scenario.name, kind="skipped", head=why, seconds=seconds)
    return _case(facts, scenario.name, scenario.outcome, scenario.groups, seconds)


def _case(facts: Facts, name: str, outcome: Outcome, groups: Sequence[Group], seconds: float) -> _Case:
    if outcome is Outcome.CLEAN:
        return _Case(name=name, kind="passed", seconds=seconds)
    made = [group for group in groups if group.outcome is outcome]
    reasons = ", ".join(group.reason.value for group in made) or facts.headline
    return _Case(
        name=name,
        kind="failure" if facts.fails(outcome) else "error",
        head=outcome.value,
        reasons=reasons,
        body="\n".join(_told(groups)),
        seconds=seconds,
    )


def _told(groups: Sequence[Group]) -> list[str]:
    lines: list[str] = []
    for group in groups:
        for finding in group.findings[: max(1, MOST_FINDINGS // len(groups))]:
            sure = certainty(finding.evidence_bits)
            kinds = ", ".join(f"{kind.value} {kind.title}" for kind in finding.kinds)
            lines.append(f"{group.outcome.value} {group.reason.value} at {finding.probe_label or 'the run as a whole'}")
            lines.append(f"  {finding.message}")
            lines.extend(f"  {each}" for each in (sure, f"suspected: {kinds}" if kinds else "") if each)
        lines.append(f"  first: {advice_on(group.reason).first}")
    return lines


def _counts(cases: Sequence[_Case]) -> str:
    number = {kind: sum(case.kind == kind for case in cases) for kind in ("failure", "error", "skipped")}
    return (
        f'tests="{len(cases)}" failures="{number["failure"]}" errors="{number["error"]}" skipped="{number["skipped"]}"'
    )


def _properties(facts: Facts) -> list[str]:
    verdict, run = facts.report.verdict, facts.report.run
    told = {
        "run": run.run_id,
        "target": facts.target,
        "model": run.campaign.target.model,
        "build": run.campaign.target.build,
        "trigger": run.trigger.value,
        "verdict": facts.outcome.value,
        "meaning": MEANINGS[facts.outcome],
        "reasons": ", ".join(reason.value for reason in verdict.reasons),
        "exit_code": str(facts.exit.value),
        "probes": str(verdict.probes),
        "conclusive": str(verdict.conclusive),
        "clean": str(verdict.clean),
        "counts": count_words(verdict),
        "bound": bound_words(verdict),
        "spent": spending_words(facts.report.spent),
        **{f"rollout.{name}": value for name, value in run.facts.items()},
    }
    lines = [
        f"      <property name={quoteattr(name)} value={quoteattr(value)}/>" for name, value in told.items() if value
    ]
    return ["    <properties>", *lines, "    </properties>"]


def _lines(facts: Facts, case: _Case) -> list[str]:
    opened = (
        f"    <testcase classname={quoteattr(f'prober.{facts.target}')} name={quoteattr(case.name)} "
        f'time="{case.seconds:.3f}"'
    )
    if case.kind == "passed":
        return [f"{opened}/>"]
    if case.kind == "skipped":
        return [f"{opened}>", f"      <skipped message={quoteattr(case.head)}/>", "    </testcase>"]
    head = f"<{case.kind} type={quoteattr(case.head)} message={quoteattr(f'{case.head}: {case.reasons}')}>"
    return [f"{opened}>", f"      {head}{escape(case.body)}</{case.kind}>", "    </testcase>"]
