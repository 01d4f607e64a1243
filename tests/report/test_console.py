"""The console report."""

import dataclasses
import io

from rich.console import Console

from prober.domain.outcome import Outcome
from prober.report.console import print_report
from tests.support.reports import a_clean_report, a_leak, a_report


def printed(report, *, width: int = 120) -> str:
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
    """A clean report says how many probes stand behind it."""
    text = printed(a_clean_report())

    assert " CLEAN  staging: nothing to report" in text
    assert "30 probes, 30 conclusive, 30 clean" in text
    assert "leak rate per probe below 9.51% with 95 % confidence" in text


def test_many_findings_are_counted_not_listed():
    """A flood of findings stays readable and says how many were left out."""
    suspect = dataclasses.replace(a_leak(), outcome=Outcome.SUSPECT, sightings=())
    text = printed(a_report(findings=(suspect,) * 40))

    assert "and 28 more, all in the JSON report" in text
