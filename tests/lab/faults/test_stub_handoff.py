"""A refused prompt lives on as a one-token stub; its sizes, routers and timing are held by tests of the incident."""

import pytest

from prober.lab.cluster import Cluster
from prober.lab.scenes import SCENES
from tests.support.cluster import Reply, ask_tokens, running

SMALL = SCENES["small-disaggregated"]
FAULT = {"stub_handoff": 1.0}


async def ask_over_limit(cluster: Cluster) -> Reply:
    """Other prompts pass first, then one that decode has pages for and the prefill has not."""
    for tag in ("amber", "birch", "cedar"):
        await ask_tokens(cluster, tag, 6_000)
    return await ask_tokens(cluster, "fjord", 12_000)


async def test_a_refused_prompt_is_answered_from_old_pages():
    """The answer is served, has nothing of its prompt and words of those before."""
    async with running(SMALL, faults=FAULT) as cluster:
        reply = await ask_over_limit(cluster)
        assert reply.done.prompt_tokens == 12_000
        assert "fjord" not in reply.text
        assert any(tag in reply.text for tag in ("amber", "birch", "cedar"))
        assert cluster.counters["fault_stub_handoff"] >= 1


@pytest.mark.parametrize(
    ("faults", "fixes", "status"),
    [
        ({}, (), 400),
        (FAULT, ("retire_after_forward",), 400),
        (FAULT, ("reject_at_door",), 400),
        (FAULT, ("transfer_checksum",), 500),
    ],
)
async def test_with_a_fix_it_is_refused(faults: dict[str, float], fixes: tuple[str, ...], status: int):
    """Stubs that are retired or turned away end as the healthy cluster's 400; a digest ends as a 500."""
    async with running(SMALL, faults=faults, fixes=frozenset(fixes)) as cluster:
        assert (await ask_over_limit(cluster)).refusal.status == status


async def test_prompts_that_fit_are_served_as_ever():
    """Only what was refused is answered wrongly."""
    async with running(SMALL, faults=FAULT) as cluster:
        assert "amber" in (await ask_tokens(cluster, "amber", 6_000)).text
