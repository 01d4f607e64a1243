"""What is known against a run before it begins."""

import pytest

from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.runner.run import execute
from tests.support.fake_llm import FakeLlm
from tests.support.ports import World, small_run

DOUBT = Finding(detector="self_watch", outcome=Outcome.INCONCLUSIVE, reason=Reason.SELFTEST_FAILED, message="in doubt")


@pytest.mark.parametrize(
    ("llm", "outcome"),
    [(FakeLlm(), Outcome.INCONCLUSIVE), (FakeLlm(leaks=True), Outcome.VIOLATION)],
    ids=["clean", "leaking"],
)
async def test_a_run_in_doubt_is_never_clean(llm: FakeLlm, outcome: Outcome):
    """It is run to its end all the same: a leak that it finds is one. The doubt is stored with its verdict."""
    world = World(llm.observe)
    run = small_run("baseline", "seed_and_probe")
    report = await execute(run, world.instruments, world.ports, (DOUBT,))

    assert report.verdict.outcome is outcome
    assert (Reason.SELFTEST_FAILED in report.verdict.reasons) == (outcome is Outcome.INCONCLUSIVE)
    assert DOUBT in report.findings
    assert world.ledger.reports == [report]
    assert report.probes


async def test_without_a_doubt_it_is_clean():
    """The same run, so that it was the doubt."""
    llm = FakeLlm()
    world = World(llm.observe)
    report = await execute(small_run("baseline", "seed_and_probe"), world.instruments, world.ports)

    assert report.verdict.outcome is Outcome.CLEAN
