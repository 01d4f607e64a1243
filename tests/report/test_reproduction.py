"""The program that shows a finding again."""

import ast
import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.answer import Answer
from prober.domain.outcome import Outcome
from prober.domain.verdict import ProbeSummary
from prober.report.facts import facts_of
from prober.report.reproduction import MOST_STEPS, key_variable, render, reproduction_of
from tests.support.reports import DONOR_CANARY, STARTED, a_clean_report, a_leak, a_probe_summary, a_report, a_trace


def probe(number: int, start: float, seconds: float, **changes: object) -> ProbeSummary:
    trace = a_trace(sent_at=STARTED + dt.timedelta(seconds=start), end_seconds=seconds)
    return a_probe_summary(label=f"seed_and_probe/{number:04d}", trace=trace, outcome=Outcome.CLEAN, **changes)


DONOR = probe(1, 0.0, 5.0, role="donor", tenant="bravo", canary=str(DONOR_CANARY), expectation="serve")
HUNG_UP = probe(2, 1.0, 0.25, tenant="bravo", answer=Answer.ABANDONED)
ASKER = probe(3, 20.0, 1.0)


def test_it_sends_donor_and_asker_in_their_order_and_waves():
    """What was in flight together is again, at the same offsets; a planned hang-up is planned again."""
    steps = reproduction_of(facts_of(a_report(probes=(DONOR, HUNG_UP, ASKER)))).steps

    assert [(step.label, step.tenant, step.wave, step.offset_seconds, step.hang_up_seconds) for step in steps] == [
        ("seed_and_probe/0001", "bravo", 1, 0.0, None),
        ("seed_and_probe/0002", "bravo", 1, 1.0, 0.25),
        ("seed_and_probe/0003", "alpha", 2, 0.0, None),
    ]
    assert steps[0].text == str(DONOR_CANARY)


def test_it_is_minimal_and_keeps_the_donor():
    """Of a long run a dozen requests are sent, the donor among them."""
    crowd = tuple(probe(number, number * 10.0, 1.0) for number in range(10, 60))
    last = probe(99, 900.0, 1.0)
    report = a_report(probes=(DONOR, *crowd, last), findings=(a_leak(probe_label=last.label),))
    labels = [step.label for step in reproduction_of(facts_of(report)).steps]

    assert len(labels) == MOST_STEPS
    assert labels[0] == DONOR.label
    assert labels[-1] == last.label


def test_what_cannot_be_reproduced_says_why():
    """No finding, a probe that is gone, a scenario that asks for more than lengths."""
    masked = a_report(probes=(a_probe_summary(scenario="mixed_parameters"),))

    assert "no finding" in reproduction_of(facts_of(a_clean_report())).why_not
    assert "no longer kept" in reproduction_of(facts_of(a_report(probes=()))).why_not
    assert "prober run --scenario mixed_parameters" in reproduction_of(facts_of(masked)).why_not


def run(program: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    file = folder / "reproduce.py"
    file.write_text(program, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-I", str(file)],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_names_the_variables_that_it_lacks(tmp_path: Path):
    """Credentials come from the environment, and without them nothing is sent."""
    ended = run(render(facts_of(a_report(probes=(DONOR, ASKER)))), tmp_path)

    assert ended.returncode == 2
    assert ended.stdout == "set TARGET_URL, KEY_BRAVO, KEY_ALPHA\n"
    assert key_variable("team-a.1") == "KEY_TEAM_A_1"


def test_a_target_that_cannot_be_reached_proves_nothing(tmp_path: Path):
    """Exit code 3, never 0."""
    program = render(facts_of(a_report(probes=(DONOR, ASKER))))
    ended = run(program, tmp_path, TARGET_URL="http://127.0.0.1:9/v1", KEY_ALPHA="a", KEY_BRAVO="b")

    assert ended.returncode == 3
    assert "nothing could be judged" in ended.stdout


def test_a_program_without_requests_says_so(tmp_path: Path):
    """It is a program all the same."""
    ended = run(render(facts_of(a_clean_report())), tmp_path)

    assert (ended.returncode, ended.stdout) == (3, "This run has no finding about a request to send again.\n")


@settings(max_examples=40)
@given(st.text(st.characters(codec=None), max_size=40))
def test_no_value_becomes_code(text: str):
    """Names of tenants and models stand in it as data: the program's own statements stay as they are."""
    report = a_report(probes=(probe(1, 0.0, 1.0, tenant=text, canary=str(DONOR_CANARY)), ASKER))
    plain = a_report(probes=(probe(1, 0.0, 1.0, tenant="x", canary=str(DONOR_CANARY)), ASKER))
    ours, theirs = (ast.parse(render(facts_of(each))) for each in (plain, report))

    assert [type(node) for node in ast.walk(ours)] == [type(node) for node in ast.walk(theirs)]
    assert render(facts_of(report)).isascii() == render(facts_of(plain)).isascii()
