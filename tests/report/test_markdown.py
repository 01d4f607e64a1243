"""Markdown for a pull request."""

import dataclasses

from prober.domain.fault_kind import FaultKind
from prober.domain.outcome import Outcome
from prober.report.facts import facts_of
from prober.report.markdown import MOST_CHARACTERS, bounded, render
from tests.support.reports import a_clean_report, a_leak, a_probe_summary, a_report, report_of


def test_a_reviewer_sees_verdict_evidence_kinds_scenarios_and_how_to_see_it_again():
    """All on one screen, the most telling first."""
    text = render(facts_of(a_report(findings=(a_leak(kinds=(FaultKind.REJECTED_BUT_ADMITTED,)),))))

    assert text.startswith("## ❌ VIOLATION: `staging`\n")
    assert "held text of tenant bravo" in text
    assert "chance explains it in at most one of 104 billion answers" in text
    assert "[SGLang #<!-- -->30233](<https://github.com/sgl-project/sglang/issues/30233>)" in text
    assert "| `seed_and_probe` | ❌ violation | 1 | 1 | 0 | `foreign_canary` |" in text
    assert "$ prober run --target staging --scenario seed_and_probe" in text
    assert "`service` `chat`, `revision` `42`" in text


def test_a_clean_run_is_short():
    """Verdict, counts and bound."""
    text = render(facts_of(a_clean_report()))

    assert text.startswith("## ✅ CLEAN: `staging`")
    assert "below 9.51%" in text
    assert "### Findings" not in text


def test_what_could_not_be_judged_has_no_green_sign():
    """Neither tick nor the word clean in its headline."""
    head = render(facts_of(report_of(Outcome.INCONCLUSIVE))).splitlines()[0]

    assert "✅" not in head
    assert "INCONCLUSIVE" in head


def test_it_fits_a_comment_whatever_the_run():
    """The longest report is cut between parts, and says that it is."""
    leaks = tuple(
        dataclasses.replace(a_leak(message="m" * 4_000, probe_label=f"s{n}/{n:04d}"), reason=reason)
        for n, reason in enumerate(list(type(a_leak().reason))[:50])
    )
    probes = tuple(a_probe_summary(label=f"s{n}/{n:04d}", scenario=f"s{n}") for n in range(300))
    text = render(facts_of(a_report(findings=leaks, probes=probes)))

    assert len(text) <= MOST_CHARACTERS
    assert "left out" in text
    assert text.count("```") % 2 == 0
    assert bounded(iter(["a" * 50, "b" * 500]), 200).startswith("a" * 50 + "\n\nThe rest is left out")
