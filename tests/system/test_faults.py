"""The quick self-test: every fault of the lab, always on, is found over real sockets by the scenario that is for it."""

import pytest

from prober.domain.finding import Finding
from prober.lab.faults import FAULTS
from prober.service.fault_runs import FaultSeen, observe, run_of
from prober.telemetry.logs import Log

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time, pytest.mark.no_coverage]

SEEDS = (0, 1)
"""One miss is allowed: 95 % of runs must find a fault (`make selftest-power` counts), and two misses are 1 in 400."""


def told(seen: FaultSeen) -> str:
    """What came out, for whoever reads a failure."""

    def line(finding: Finding) -> str:
        kinds = " ".join(kind.value for kind in finding.kinds)
        return f"{finding.outcome.value} {finding.detector} {finding.reason.value} [{kinds}] {finding.message}"

    return "\n".join([f"{seen.fault_run.fault}: {seen.outcome.name}", *map(line, seen.notable)])


@pytest.mark.parametrize("fault", FAULTS)
async def test_every_fault_is_found_named_and_said_in_a_sentence(fault: str, quiet_log: Log):
    """A suspicion or violation names the right kind first or second, and says in one sentence what was seen."""
    missed = []
    for seed in SEEDS:
        seen = await observe(run_of(fault, seed=seed), log=quiet_log)
        if seen.telling is not None:
            assert seen.telling.message.endswith("."), seen.telling.message
            assert seen.telling.message.count("\n") == 0
            return
        missed.append(told(seen))
    pytest.fail("\n".join(missed))


@pytest.mark.parametrize("fault", ["batch_index", "shared_prefixes"])
async def test_a_rare_fault_is_looked_for_until_its_rate_is_excluded(fault: str, quiet_log: Log):
    """At one strike in twenty the rounds go on until it is found, or until so rare a leak is excluded.

    Never CLEAN while fewer clean checks were made than so rare a leak needs.
    """
    seen = await observe(run_of(fault, rate=0.05), log=quiet_log)
    needed = 59  # ln 0.05 / ln 0.95, rounded up
    (report,) = seen.reports
    assert seen.is_found or seen.outcome.name == "INCONCLUSIVE" or report.verdict.clean >= needed, told(seen)
