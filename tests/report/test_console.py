"""The console report."""

import dataclasses
import io

from rich.console import Console

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.report.console import print_report
from tests.support.reports import a_clean_report, a_leak, a_report


def printed(report: RunReport, *, width: int = 120) -> str:
    """Print as into a pipe."""
    sink = io.StringIO()
    print_report(Console(file=sink, width=width, no_color=True, highlight=False), report)
    return sink.getvalue()


def test_a_violation_names_the_victim_the_donor_and_the_limit():
    """The reader sees verdict, whose text came out in whose answer, and the first wrong length."""
    text = printed(a_report())

    assert text.startswith(" VIOLATION  staging: foreign_canary, served_over_limit")
    folded = " ".join(text.split())
    assert "The answer to tenant alpha's request seed_and_probe/0003 held text of tenant bravo" in folded
    assert "from its request seed_and_probe/0001" in folded
    assert "first length served wrongly: 681,274 tokens" in text


def test_a_pipe_gets_no_escape_codes():
    """Output into a pipe holds no terminal control codes."""
    assert "\x1b" not in printed(a_report())


def test_a_clean_report_is_short_and_states_its_bound():
    """A clean report says how many probes stand behind it, and needs no reasons."""
    text = printed(a_clean_report())

    assert text.splitlines()[0].strip() == "CLEAN  staging"
    assert "30 probes, 30 conclusive, 30 clean" in text
    assert "leak rate per probe below 9.51% with 95 % confidence" in text


def test_findings_of_one_reason_are_grouped_and_the_strongest_is_told():
    """A flood of findings stays readable: a few probes are named, the others counted, one message told."""
    leaks = tuple(
        a_leak(probe_label=f"limit_sweep/{number:04d}", evidence_bits=float(number), message=f"message {number}")
        for number in range(40)
    )
    text = printed(a_report(findings=leaks))

    assert "violation foreign_canary: limit_sweep/0000" in text
    assert "and 36 more" in text
    assert "message 39" in text
    assert "message 38" not in text


def test_a_finding_about_the_run_says_so():
    """Findings without a probe are told as the run's, and a leak of an unlisted probe is still attributed."""
    cut = dataclasses.replace(
        a_leak(probe_label="", sightings=()), outcome=Outcome.INCONCLUSIVE, reason=Reason.BUDGET_EXHAUSTED
    )
    text = printed(a_report(findings=(cut, a_leak(probe_label="other/0001"))))

    assert "inconclusive budget_exhausted: the run as a whole" in text
    assert "The answer to a tenant's request other/0001 held text of tenant bravo" in " ".join(text.split())
