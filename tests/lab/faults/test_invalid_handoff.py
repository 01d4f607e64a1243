"""A request refused for its form lives on as a stub."""

import dataclasses

from prober.lab.cluster import Cluster
from prober.lab.events import Rejection
from prober.lab.scenes import SCENES
from tests.support.cluster import Reply, ask, ask_tokens, prompt, request, running

SMALL = SCENES["small-disaggregated"]
FAULT = {"invalid_handoff": 1.0}


async def ask_invalid(cluster: Cluster) -> Reply:
    """Other prompts pass first, then one whose grammar the scheduler cannot compile."""
    for tag in ("amber", "birch", "cedar"):
        await ask_tokens(cluster, tag, 6_000)
    text = prompt("fjord", 3_000, cluster.tokenizer)
    return await ask(cluster, dataclasses.replace(request("fjord", text), late_error="Failed to compile grammar"))


async def test_a_refused_form_is_answered_from_old_pages():
    """The answer is served, and is made of what the reserved pages held before."""
    async with running(SMALL, faults=FAULT) as cluster:
        reply = await ask_invalid(cluster)
        assert reply.done.completion_tokens
        assert "fjord" not in reply.text
        assert any(tag in reply.text for tag in ("amber", "birch", "cedar"))
        assert (cluster.census[-1].own, cluster.census[-1].stub) == (0, 1)


async def test_the_door_refuses_it():
    """With the fix it is a 400, as in a cluster without the fault."""
    for faults, fixes in ((FAULT, {"reject_at_door"}), (FAULT, {"retire_after_forward"}), ({}, set[str]())):
        async with running(SMALL, faults=faults, fixes=frozenset(fixes)) as cluster:
            refusal = (await ask_invalid(cluster)).refusal
            assert isinstance(refusal, Rejection)
            assert refusal.status == 400
            assert "grammar" in refusal.message
