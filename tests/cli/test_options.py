"""What several verbs share."""

import datetime as dt
import io
import logging
import pathlib

import pytest

from prober.cli.exits import Exit
from prober.cli.options import WithoutCourse
from prober.domain.probe import Wave
from prober.domain.verdict import Spending
from prober.telemetry.logs import LogFormat, open_log
from prober.telemetry.redaction import Redactor
from prober.telemetry.run_log import RunLog
from tests.support.command import Workplace, invoke
from tests.support.evidence import a_judgement, a_probe
from tests.support.reports import a_report, a_run


def test_a_missing_variable_is_named_and_no_value_is_shown(place: Workplace):
    """The usual first mistake is told by the variable's name."""
    place.configure("http://127.0.0.1:9/v1")
    finished = invoke("validate", "--config", str(place.config), environment={"ALPHA_KEY": "sk-only-alpha"})

    assert finished.code == Exit.USAGE
    assert "BRAVO_KEY" in finished.stderr
    assert "sk-only-alpha" not in finished.said


def test_a_lost_key_file_is_2_and_says_what_to_do(place: Workplace):
    """Without the key no canary can be made: configuration, not a fault of ours."""
    place.configure("http://127.0.0.1:9/v1")
    (place.folder / "canary.key").unlink()

    for verb in ("validate", "run"):
        finished = place.invoke(verb)
        assert finished.code == Exit.USAGE
        assert "canary.key" in finished.stderr


def test_without_any_configuration_the_ways_to_name_one_are_told(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
):
    """The first command in the wrong folder says what is missing and how to name it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PROBER_CONFIG", raising=False)
    finished = invoke("validate")

    assert finished.code == Exit.USAGE
    assert "there is no prober.yaml here; name your configuration with -c FILE or PROBER_CONFIG" in finished.said


def test_a_quiet_log_drops_the_course_of_runs_and_nothing_else():
    """What the display does not tell, such as where a fault of our own lies, is still logged at every level."""
    sink = io.StringIO()
    now = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)
    log = WithoutCourse(open_log(sink, form=LogFormat.JSON, redactor=Redactor(), now=lambda: now, level=logging.DEBUG))
    course = RunLog(log)
    course.run_started(a_run(), Spending())
    course.wave_started(a_run(), Wave(probes=(a_probe(),), purpose="seed the pools"), Spending())
    course.probe_judged(a_run(), a_judgement(None), Spending())
    course.run_ended(a_report())

    assert sink.getvalue() == ""

    course.internal_error("ladder", KeyError("x"))
    for write in (log.debug, log.info, log.warning, log.error):
        write("told")

    assert sink.getvalue().count("internal_error") == 1
    assert sink.getvalue().count('"told"') == 4
