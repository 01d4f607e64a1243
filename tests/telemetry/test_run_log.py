"""The course of runs as log lines."""

import io
import json
import logging

import pytest

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Wave
from prober.domain.verdict import Spending
from prober.telemetry.logs import LogFormat, open_log
from prober.telemetry.redaction import Redactor
from prober.telemetry.run_log import RunLog
from tests.support import evidence, reports


@pytest.fixture
def stream():
    return io.StringIO()


@pytest.fixture
def run_log(stream: io.StringIO):
    log = open_log(stream, form=LogFormat.JSON, redactor=Redactor(), now=lambda: reports.STARTED, level=logging.DEBUG)
    return RunLog(log)


def line(stream: io.StringIO) -> dict:
    """The only line, decoded."""
    return json.loads(stream.getvalue())


def test_the_start_of_a_run(run_log: RunLog, stream: io.StringIO):
    """A run's beginning names run, target, trigger, scenarios and estimate."""
    run_log.run_started(reports.a_run(), Spending(requests=3, prompt_tokens=100, output_tokens=20))

    assert line(stream) | {
        "event": "run_started",
        "level": "info",
        "run_id": "run-1",
        "target": "staging",
        "trigger": "manual",
        "scenarios": ["baseline", "seed_and_probe"],
        "tenants": ["alpha", "bravo"],
        "estimated_requests": 3,
        "estimated_tokens": 120,
    } == line(stream)


def test_a_run_that_may_not_fit_is_a_warning(run_log: RunLog, stream: io.StringIO):
    """Each cap that the estimate would pass is named, with what is left and when it frees up."""
    run_log.budget_short(reports.a_run(), [reports.a_shortage()])

    assert line(stream)["level"] == "warning"
    assert line(stream)["event"] == "budget_short"
    assert line(stream)["run_id"] == "run-1"
    assert line(stream)["caps"] == [str(reports.a_shortage())]


def test_a_database_that_is_gone_is_a_warning(run_log: RunLog, stream: io.StringIO):
    """Why, and how long the run waits yet at most; when it is over, how long it was."""
    run_log.database_awaited(reports.a_run(), "The database cannot be reached.", 118.04)
    told = line(stream)
    assert (told["level"], told["event"], told["run_id"]) == ("warning", "database_awaited", "run-1")
    assert (told["reason"], told["seconds_left"]) == ("The database cannot be reached.", 118.0)

    stream.seek(0)
    stream.truncate()
    run_log.database_back(reports.a_run(), 2.04)
    told = line(stream)
    assert (told["level"], told["event"], told["waited_seconds"]) == ("info", "database_back", 2.0)


def test_a_wave(run_log: RunLog, stream: io.StringIO):
    """A wave names its purpose and probes."""
    run_log.wave_started(reports.a_run(), Wave(probes=(evidence.a_probe(),), purpose="seed the pools"), Spending())

    assert line(stream)["purpose"] == "seed the pools"
    assert line(stream)["probes"] == ["baseline/0001"]
    assert line(stream)["level"] == "debug"


@pytest.mark.parametrize(
    ("outcome", "level"),
    [
        (Outcome.CLEAN, "debug"),
        (Outcome.INCONCLUSIVE, "info"),
        (Outcome.SUSPECT, "warning"),
        (Outcome.VIOLATION, "error"),
    ],
)
def test_a_probe_is_as_loud_as_its_outcome(run_log: RunLog, stream: io.StringIO, outcome: Outcome, level: str):
    """The worse a probe's outcome, the higher its level; clean findings are not listed."""
    finding = evidence.a_finding(Reason.FOREIGN_CANARY, outcome, sightings=(evidence.a_sighting(),), evidence_bits=37.5)
    run_log.probe_judged(reports.a_run(), evidence.a_judgement(None, finding), Spending(prompt_tokens=7))

    written = line(stream)
    assert (written["level"], written["outcome"], written["spent_tokens"]) == (level, outcome.value, 7)
    listed = {
        "detector": "any",
        "outcome": outcome.value,
        "reason": "foreign_canary",
        "message": "It was so.",
        "evidence_bits": 37.5,
        "foreign_canaries": [str(evidence.DONOR)],
    }
    assert written["findings"] == ([] if outcome is Outcome.CLEAN else [listed])
    assert written["answer_sha256"] == "a" * 64


@pytest.mark.parametrize(
    ("report", "level", "outcome"),
    [(reports.a_report(), "error", "violation"), (reports.a_clean_report(), "info", "clean")],
)
def test_the_end_of_a_run(run_log: RunLog, stream: io.StringIO, report: reports.RunReport, level: str, outcome: str):
    """A run's verdict is always written at the default level or above."""
    run_log.run_ended(report)

    written = line(stream)
    assert (written["level"], written["outcome"], written["target"]) == (level, outcome, "staging")
    assert written["leak_rate_upper95"] == report.verdict.leak_rate_upper95


def test_a_fault_of_ours(run_log: RunLog, stream: io.StringIO):
    """A fault names its component and class, without the exception's text."""
    run_log.internal_error("ladder", ValueError("foreign text"))

    assert (line(stream)["component"], line(stream)["error"]["class"]) == ("ladder", "ValueError")
    assert "foreign" not in stream.getvalue()
