"""`discover` over real sockets, against clusters of which it knows the advertised context alone."""

import pytest

from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.target import RESERVED_TOKENS
from prober.domain.verdict import ProbeSummary, RunReport
from prober.lab.scenes import stage_scene
from prober.service.lab_run import LabRun, perform
from prober.telemetry.logs import Log

SHRINK = 16
POOL = stage_scene("incident", shrink=SHRINK).prefill_pool_tokens
FIRST_REJECTED = POOL - RESERVED_TOKENS
PAGE = 64

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time]


async def discover(log: Log, scene: str, **target: object) -> RunReport:
    """Run nothing but the search, the pools' sizes withheld."""
    unknown = {"prefill_pool_tokens": None, "decode_pool_tokens": None}
    return await perform(
        LabRun(
            scene=scene,
            scenarios=("discover",),
            shrink=SHRINK,
            time_scale=1 / 40,
            target=unknown | target,
            settings={"anchor_probes": 3},
        ),
        log=log,
    )


def searched(report: RunReport) -> list[ProbeSummary]:
    return [probe for probe in report.probes if probe.scenario == "discover"]


async def test_a_repaired_cluster_tells_its_pool_by_its_refusals(quiet_log: Log):
    """Its limit is known to one page after a few probes, and the run is clean."""
    report = await discover(quiet_log, "fixed")

    assert report.verdict.outcome is Outcome.CLEAN
    assert report.limits.first_wrong is None
    assert FIRST_REJECTED - PAGE <= (report.limits.largest_served or 0) < FIRST_REJECTED
    assert FIRST_REJECTED <= (report.limits.smallest_rejected or 0) < FIRST_REJECTED + PAGE
    assert len(searched(report)) <= 8


async def test_the_incident_is_the_finding_and_the_end_where_customers_are(quiet_log: Log):
    """A shared target is left alone at the first answer made of somebody else's pages."""
    report = await discover(quiet_log, "incident", shared=True)

    assert report.verdict.outcome is Outcome.VIOLATION
    assert Reason.FOREIGN_CANARY in report.verdict.reasons
    assert [probe.outcome is Outcome.VIOLATION for probe in searched(report)] == [False, False, True]


async def test_a_leaking_limit_is_found_to_a_page_elsewhere(quiet_log: Log):
    """Nobody else's text is at stake: the search goes on until the first wrong length is known."""
    report = await discover(quiet_log, "incident")

    assert FIRST_REJECTED <= (report.limits.first_wrong or 0) < FIRST_REJECTED + 2 * PAGE
    assert FIRST_REJECTED - 2 * PAGE <= (report.limits.largest_served or 0) < FIRST_REJECTED
    assert len(searched(report)) <= 40
