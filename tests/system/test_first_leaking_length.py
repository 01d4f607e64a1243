import pytest

from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.verdict import LimitMap, ProbeSummary, RunReport
from prober.service.lab_run import LabRun, perform
from prober.telemetry.logs import Log

LARGEST_SERVED, FIRST_LEAKING = 681_273, 681_274
POINTS_BEFORE_BISECTION = 12
"""Around the context window, which is the only limit that is known."""
BISECTION_PROBES = 18
"""ceil(log2(851,914 - 655,323)): from the shortest leaking to the longest sound of those points, to one token."""

pytestmark = [pytest.mark.slow, pytest.mark.one_at_a_time]


async def sweep(log: Log, target: dict[str, object], settings: dict[str, object]) -> RunReport:
    """Run nothing but a limit sweep against the incident at its own sizes."""
    return await perform(
        LabRun(scene="incident", scenarios=("limit_sweep",), target=target, settings=settings), log=log
    )


def swept(report: RunReport) -> list[ProbeSummary]:
    """The sweep's own probes: donors seed, they search nothing."""
    return [probe for probe in report.probes if probe.scenario == "limit_sweep" and probe.role != "donor"]


def at(report: RunReport, tokens: int) -> ProbeSummary:
    """The probe that the server counted as so long."""
    [probe] = [probe for probe in swept(report) if probe.prompt_tokens == tokens]
    return probe


def assert_found_to_the_token(report: RunReport):
    """681,273 is served soundly, 681,274 leaks, and the map of limits says so."""
    assert report.limits == LimitMap(
        largest_served=LARGEST_SERVED, smallest_rejected=report.limits.smallest_rejected, first_wrong=FIRST_LEAKING
    )
    sound, leaking = at(report, LARGEST_SERVED), at(report, FIRST_LEAKING)
    assert (sound.outcome, sound.answer) == (Outcome.CLEAN, Answer.SERVED_FULL)
    assert Reason.RECALL_OK in sound.reasons
    assert (leaking.outcome, leaking.answer) == (Outcome.VIOLATION, Answer.SERVED_FULL)
    assert Reason.FOREIGN_CANARY in leaking.reasons


async def test_the_sweep_finds_the_first_leaking_length_around_the_known_pool(quiet_log: Log):
    """With the pool's size configured, the first two lengths of the sweep already tell the limit to the token."""
    report = await sweep(quiet_log, {}, {"sweep_max_probes": 3, "seed_tokens": 700_000})
    assert_found_to_the_token(report)
    assert [probe.prompt_tokens for probe in swept(report)[:2]] == [LARGEST_SERVED, FIRST_LEAKING]


async def test_bisection_finds_the_first_leaking_length_of_an_unknown_pool(quiet_log: Log):
    """With only the context window known, bisection finds the limit in few probes, within the default token cap."""
    report = await sweep(quiet_log, {"prefill_pool_tokens": None, "decode_pool_tokens": None, "shared": False}, {})
    assert_found_to_the_token(report)
    assert len(swept(report)) <= POINTS_BEFORE_BISECTION + BISECTION_PROBES
    assert Reason.BUDGET_EXHAUSTED not in {finding.reason for finding in report.findings}
