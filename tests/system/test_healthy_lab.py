import asyncio
import collections
import dataclasses
import itertools
import json
import urllib.request

import pytest

from prober.domain.campaign import ScenarioSettings, Trigger
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import RunReport
from prober.service.lab_run import LabRun, OpenLab, open_lab
from prober.telemetry.logs import Log

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time, pytest.mark.timeout(900), pytest.mark.no_coverage]

SHRINK = 16
UNPACED = {"starts_per_period": 100_000}
FIRED_AT_LEAST = 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Talk:
    """A campaign, how often it runs, and the lab's clock meanwhile."""

    scenarios: tuple[str, ...]
    settings: ScenarioSettings
    runs: int
    time_scale: float


SMALL_TALK = Talk(
    scenarios=("baseline",),
    settings=ScenarioSettings(
        baseline_tokens=2_048, baseline_probes=452, anchor_probes=3, over_limit_max_output_tokens=48
    ),
    runs=1,
    time_scale=1 / 100,
)
"""904 short prompts: what goes wrong with texts goes wrong here."""

LONG_TALK = Talk(
    scenarios=("baseline", "limit_sweep"),
    settings=ScenarioSettings(baseline_probes=4, anchor_probes=5, seed_tokens=340_000, sweep_max_probes=12),
    runs=2,
    time_scale=1 / 5,
)
"""Prompts longer than five verified ones: their first tokens are judged against a floor.

On a slow clock, as the machine's own work must stay small beside the virtual prefill: a machine that was busy while the
anchors were timed, and is not afterwards, would make honest answers look too fast.
"""


def lab_run(scene: str, talk: Talk) -> LabRun:
    return LabRun(scene=scene, scenarios=talk.scenarios, shrink=SHRINK, time_scale=talk.time_scale, target=UNPACED)


async def hold(scene: str, talk: Talk, log: Log) -> tuple[list[RunReport], collections.Counter[str]]:
    """Run a campaign as often as it says against one lab; its reports, and what the lab counted."""
    async with open_lab(lab_run(scene, talk), log=log) as lab:
        campaign = dataclasses.replace(lab.campaign, settings=talk.settings)
        reports = [await lab.prober.run(campaign, Trigger.MANUAL) for _ in range(talk.runs)]
        return reports, await counters_of(lab)


async def counters_of(lab: OpenLab) -> collections.Counter[str]:
    """What the lab itself says it did."""

    def read() -> collections.Counter[str]:
        with urllib.request.urlopen(f"{lab.lab.url}/lab/records", timeout=10) as answer:  # noqa: S310 - our own loopback
            return collections.Counter(json.load(answer)["counters"])

    return await asyncio.to_thread(read)


def told(findings: list[Finding]) -> str:
    return "\n".join(f"{f.outcome.value} {f.reason.value} {f.probe_label}: {f.message}" for f in findings)


async def test_a_healthy_lab_raises_no_alarm_in_a_thousand_probes(quiet_log: Log):
    """Copy errors, missed recalls, refusals and timing noise, each fired 20 times and more, raise no suspicion."""
    small, small_counters = await hold("healthy", SMALL_TALK, quiet_log)
    long, long_counters = await hold("healthy", LONG_TALK, quiet_log)
    reports, counters = small + long, small_counters + long_counters
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
    [report], counters = await hold("incident-noisy", dataclasses.replace(LONG_TALK, runs=1), quiet_log)
    assert report.verdict.outcome is Outcome.VIOLATION
    assert {Reason.FOREIGN_CANARY, Reason.SERVED_OVER_LIMIT} <= set(report.verdict.reasons)
    leaks = [finding for finding in report.findings if finding.reason is Reason.FOREIGN_CANARY]
    assert all(str(sighting.canary) in report.donor_labels for leak in leaks for sighting in leak.sightings)
    assert min(counters[name] for name in ("copy_errors", "recall_misses", "refusals")) > 0
    assert report.limits.first_wrong == report.run.campaign.target.first_rejected_tokens
