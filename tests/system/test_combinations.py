import dataclasses

import pytest

from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.lab.faults import FAULTS
from prober.lab.scenes import SCENES
from prober.service.fault_runs import HEALTHY_SCENES
from prober.service.lab_run import perform
from prober.service.selftest import CASES, Case, Checked, check
from prober.telemetry.logs import Log

NOISY = {"healthy", "incident-noisy"}
"""Their verdicts are a matter of chance in detail; test_healthy_lab has them."""

POOLED = {"gateway-pooled"}
"""Tenants share one upstream credential there, which is a choice and no bug: for whoever wants to look at it."""

BY_NAME = {case.name: case for case in CASES}


def told(case: Case, report: RunReport) -> str:
    """What came out, for whoever reads a failure."""
    findings = [f"{f.outcome.value} {f.reason.value} {f.probe_label}: {f.message}" for f in report.findings]
    return "\n".join([f"{case.name}: {report.verdict}", *findings])


@pytest.mark.slow
@pytest.mark.one_at_a_time
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_every_combination_gets_the_right_verdict_for_the_right_reason(case: Case, quiet_log: Log):
    """Each combination of version, router, pools and truncation is judged as it must be, and for that reason."""
    report = await perform(case.lab_run, log=quiet_log)
    assert case.is_met_by(report), told(case, report)


def test_the_table_leaves_no_scene_out():
    """Every cluster that has a name has a verdict in the table, or is what some fault, or the healthy runs, need."""
    elsewhere = {fault.SCENE for fault in FAULTS.values()} | set(HEALTHY_SCENES) | NOISY | POOLED
    cases = {case.lab_run.scene for case in CASES}
    assert cases | elsewhere == set(SCENES)
    assert not cases & NOISY
    assert len(BY_NAME) == len(CASES)


def test_the_incident_stands_at_its_own_sizes():
    """The incident itself is not played in little."""
    assert BY_NAME["incident"].lab_run.shrink == 1


@pytest.mark.slow
@pytest.mark.one_at_a_time
@pytest.mark.parametrize(
    ("name", "scene"),
    [
        pytest.param("0.5.21, router cancels", "incident", id="bug where none should be"),
        pytest.param("0.5.19, router shows decode", "fixed", id="no bug where one should be"),
        pytest.param("0.5.19, fresh zero pools", "incident", id="right verdict, wrong reason"),
    ],
)
async def test_a_case_is_missed_on_another_cluster(name: str, scene: str, quiet_log: Log):
    """The table can fail: a cluster that behaves otherwise does not meet the case."""
    right = BY_NAME[name]
    # Seeded pools also where the case wants them empty.
    settings = {**right.lab_run.settings, "seed_tokens": None}
    wrong = dataclasses.replace(right, lab_run=dataclasses.replace(right.lab_run, scene=scene, settings=settings))
    [announced, checked] = [step async for step in check(log=quiet_log, cases=[wrong])]
    assert announced is wrong
    assert isinstance(checked, Checked)
    assert not checked.is_met, told(wrong, checked.report)
    is_leaking = checked.report.verdict.outcome is Outcome.VIOLATION
    assert is_leaking == (scene == "incident")
