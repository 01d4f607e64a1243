"""Progress for people."""

import io

from rich.console import Console

from prober.cli.progress import ProgressDisplay
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Wave
from prober.domain.verdict import Spending
from tests.support.evidence import a_finding, a_judgement, a_probe
from tests.support.reports import a_report, a_run, a_shortage


def told(*, is_terminal: bool) -> str:
    """What a run's display wrote in the end."""
    sink = io.StringIO()
    console = Console(file=sink, width=60, force_terminal=is_terminal, no_color=True, highlight=False)
    run = a_run()
    with ProgressDisplay(console) as display:
        display.run_started(run, Spending(requests=3, prompt_tokens=1_000))
        display.budget_short(run, [a_shortage()])
        for _ in range(3):
            display.wave_started(run, Wave(probes=(a_probe(), a_probe()), purpose="seed the pools"), Spending())
        display.probe_judged(run, a_judgement(None, a_finding(Reason.SERVED, Outcome.CLEAN)), Spending())
        display.probe_judged(run, a_judgement(None, a_finding(Reason.USAGE_MISMATCH, Outcome.SUSPECT)), Spending())
        display.internal_error("ladder", KeyError("secret"))
        display.database_awaited(run, "The database [/dev/sda] is full.", 119.6)
        assert display.is_waiting
        display.database_back(run, 2.4)
        assert not display.is_waiting
        assert display.report is None
        display.run_ended(a_report())
        assert display.report == a_report()
    return sink.getvalue()


def test_a_pipe_gets_one_line_per_step_and_what_is_bad_at_once():
    """Estimate and cap come first; waves alike share a line; lines are never folded; good news is not listed."""
    lines = told(is_terminal=False).splitlines()

    assert lines == [
        "run run-1: target staging, scenarios baseline, seed_and_probe",
        (
            "estimate for a healthy target, refused prompts counted in full: 3 requests, 1,000 tokens; "
            "hard cap 25,000,000 tokens"
        ),
        (
            "budget: the estimate would pass the cap of 1,000 tokens per day for target staging: 100 left, up to 200 "
            "needed; it frees up at 2026-09-02 00:00 UTC"
        ),
        "  baseline: seed the pools",
        "   SUSPECT  a/1: usage_mismatch",
        "  internal error in ladder: KeyError",
        ("  waiting up to 120 s for the database; nothing is sent meanwhile. The database [/dev/sda] is full."),
        "  the database is back after 2 s",
    ]


def test_a_terminal_gets_a_live_line_that_is_taken_away():
    """The line moves on, bad news stays above it, and no exception's text is shown."""
    text = told(is_terminal=True)

    assert "seed the pools" in text
    assert "SUSPECT" in text
    assert "secret" not in text
