import asyncio
import collections
import dataclasses
import itertools
import json
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest

from prober.domain.campaign import ScenarioSettings, Trigger
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.service.lab_run import LabRun, OpenLab, open_lab
from prober.telemetry.logs import Log

pytestmark = pytest.mark.slow

SHRINK = 16
CLOCK = 1 / 30
UNPACED = {"starts_per_period": 100_000}
FIRED_AT_LEAST = 20

SMALL_TALK = (
    ("baseline",),
    ScenarioSettings(baseline_tokens=2_048, baseline_probes=370, anchor_probes=3),
)
"""740 short prompts: what goes wrong with texts goes wrong here."""

LONG_TALK = (
    ("baseline", "seed_and_probe", "limit_sweep"),
    ScenarioSettings(baseline_probes=10, anchor_probes=10, seed_tokens=200_000, over_limit_probes=4),
)
"""Prompts longer than ten verified ones: their first tokens are judged against a floor."""

PLANS = (SMALL_TALK, LONG_TALK, LONG_TALK, LONG_TALK, LONG_TALK)


def lab_run(scene: str) -> LabRun:
    return LabRun(scene=scene, scenarios=("baseline",), shrink=SHRINK, time_scale=CLOCK, target=UNPACED)


async def play(lab: OpenLab, scenarios: tuple[str, ...], settings: ScenarioSettings) -> RunReport:
    campaign = dataclasses.replace(lab.campaign, scenarios=scenarios, settings=settings)
    return await lab.prober.run(campaign, Trigger.MANUAL)


async def counters_of(lab: OpenLab) -> Mapping[str, float]:
    """What the lab itself says it did."""

    def read() -> Any:
        with urllib.request.urlopen(f"{lab.url}/lab/records", timeout=10) as answer:  # noqa: S310 - our own loopback
            return json.load(answer)["counters"]

    return await asyncio.to_thread(read)


def told(findings: list[Finding]) -> str:
    return "\n".join(f"{f.outcome.value} {f.reason.value} {f.probe_label}: {f.message}" for f in findings)


async def test_a_healthy_lab_raises_no_alarm_in_a_thousand_probes(quiet_log: Log):
    """1,000 probes with copy errors, missed recalls, refusals and timing noise, each at its measured rate and each fired
    at least 20 times, yield neither a violation nor a suspicion."""
    async with open_lab(lab_run("healthy"), log=quiet_log) as lab:
        reports = [await play(lab, scenarios, settings) for scenarios, settings in PLANS]
        counters = await counters_of(lab)
    findings = list(itertools.chain.from_iterable(report.findings for report in reports))
    alarms = [finding for finding in findings if finding.outcome.rank >= Outcome.SUSPECT.rank]
    assert not alarms, told(alarms)
    assert sum(report.verdict.probes for report in reports) >= 1_000
    # Prefill and decode plan each answer, so that one request counts twice in the lab.
    for failing in ("copy_errors", "recall_misses", "refusals"):
        assert counters[failing] >= 2 * FIRED_AT_LEAST, failing
    for deviation in ("timings_quickened", "timings_slowed"):
        assert counters[deviation] >= FIRED_AT_LEAST, deviation
    reasons = collections.Counter(finding.reason for finding in findings)
    for judged in (
        Reason.RECALL_OK,
        Reason.RECALL_MISSED,
        Reason.REFUSED_BY_LLM,
        Reason.REJECTED_AS_DUE,
        Reason.PREFILL_PLAUSIBLE,
    ):
        assert reasons[judged] >= FIRED_AT_LEAST, judged
    assert not {Reason.DETECTOR_CRASHED, Reason.INTERNAL_ERROR, Reason.BUDGET_EXHAUSTED} & set(reasons)


async def test_the_same_noisy_lab_is_convicted_once_the_fault_is_on(quiet_log: Log):
    """With the fault switched on amid the same noise, the very campaign that was quiet attributes foreign text."""
    scenarios, settings = LONG_TALK
    async with open_lab(lab_run("incident-noisy"), log=quiet_log) as lab:
        report = await play(lab, scenarios, settings)
        counters = await counters_of(lab)
    assert report.verdict.outcome is Outcome.VIOLATION
    assert {Reason.FOREIGN_CANARY, Reason.SERVED_OVER_LIMIT} <= set(report.verdict.reasons)
    leaks = [finding for finding in report.findings if finding.reason is Reason.FOREIGN_CANARY]
    assert all(str(sighting.canary) in report.donor_labels for leak in leaks for sighting in leak.sightings)
    assert min(counters[name] for name in ("copy_errors", "recall_misses", "refusals")) > 0
    expected = lab.campaign.target.first_rejected_tokens
    assert report.limits.first_wrong == expected
