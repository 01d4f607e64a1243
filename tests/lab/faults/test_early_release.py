"""An abort frees pages under a live writer; late bytes themselves are held by tests of the cluster."""

import pytest

from prober.lab.scenes import SCENES
from tests.support.cluster import ask_tokens, hang_up, prompt, request, running

CONGESTED = SCENES["small-congested"]
FAULT = {"early_release": 1.0}


@pytest.mark.parametrize(
    ("faults", "fixes", "early"),
    [(FAULT, (), 1), (FAULT, ("deferred_release",), 0), ({}, (), 0)],
)
async def test_pages_of_an_aborted_request_are_free_while_they_are_written(
    faults: dict[str, float], fixes: tuple[str, ...], early: int
):
    """At the moment of the abort decode's pages are free with the fault, and held with its fix or without both."""
    async with running(CONGESTED, faults=faults, fixes=frozenset(fixes)) as cluster:
        decode = cluster.pools["decode"]
        donor = request("donor", prompt("donor", 9_000, cluster.tokenizer))
        await hang_up(cluster, donor, lambda: decode.writes)
        assert cluster.counters["early_releases"] == early
        assert cluster.counters["fault_early_release"] == (1 if faults and not fixes else 0)
        assert bool(decode.used_tokens) is not bool(early)


async def test_without_an_abort_nothing_is_released_early():
    """Who stays to the end is served as ever."""
    async with running(CONGESTED, faults=FAULT) as cluster:
        assert "amber" in (await ask_tokens(cluster, "amber", 600)).text
        assert cluster.counters["early_releases"] == 0
