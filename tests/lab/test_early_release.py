import asyncio
import dataclasses

import numpy as np
import pytest

from prober.lab.cluster import Cluster
from prober.lab.fixes import Fix
from tests.support.cluster import SMALL, Reply, ask, ask_tokens, hang_up, prompt, request, running, until

pytestmark = pytest.mark.alone

EARLY = {"early_release": 1.0}
# One chunk of 1,024 tokens is five virtual seconds on the wire; a victim of 600 tokens needs three.
SLOW = dataclasses.replace(SMALL, time_scale=1 / 50, transfer_seconds_per_token=5e-3)


async def storm(cluster: Cluster) -> Reply:
    """A donor fills the low pages and hangs up; a victim then gets those pages and answers for four seconds."""
    donor = request("donor", prompt("donor", 9_600, cluster.tokenizer))
    victim = request("victim", prompt("victim", 600, cluster.tokenizer, copy_words=200), max_tokens=250)
    pool = cluster.pools["decode"]
    await hang_up(cluster, donor, lambda: pool.used_tokens)
    # What is left of the free list must not suffice for the victim, so that freed pages are merged in.
    rest = await pool.reserve(7_424)
    rest.take(7_424)
    try:
        return await ask(cluster, victim)
    finally:
        rest.release()


async def test_late_bytes_of_an_aborted_request_reach_the_next_owner():
    """When an abort frees pages under a live transfer, the next owner's answer turns into the donor's text."""
    async with running(SLOW, faults=EARLY) as cluster:
        reply = await storm(cluster)
        assert "donor" in reply.text
        assert (cluster.census[-1].own, cluster.census[-1].foreign) == (10, 0)  # when the answer began
        assert cluster.counters["early_releases"] == 1
        assert cluster.counters["pages_changed_while_answering"] >= 1


@pytest.mark.parametrize(("faults", "fixes"), [(EARLY, frozenset({Fix.DEFERRED_RELEASE})), ({}, frozenset())])
async def test_pages_held_until_the_prefill_drained_stay_clean(faults: dict[str, float], fixes: frozenset[str]):
    """With deferred release, as without the fault, the donor's pages are reused only after its last write."""
    async with running(SLOW, faults=faults, fixes=fixes) as cluster:
        reply = await storm(cluster)
        assert "donor" not in reply.text
        assert reply.text.count("victim") >= 200
        assert cluster.counters["early_releases"] == 0
        assert cluster.counters["deferred_releases_drained"] == 1


async def test_deferred_release_gives_up_after_its_time():
    """A prefill that drains later than the hold lasts is counted as a timeout: the window was open."""
    async with running(
        SLOW,
        time_scale=1 / 1_000,
        faults=EARLY,
        fixes=frozenset({Fix.DEFERRED_RELEASE}),
        release_timeout_seconds=2.0,
        abort_notice_seconds=40.0,
    ) as cluster:
        pool = cluster.pools["decode"]
        donor = request("donor", prompt("donor", 9_600, cluster.tokenizer))
        await hang_up(cluster, donor, lambda: pool.used_tokens)
        await until(lambda: cluster.counters["deferred_releases_timeout"])
        assert pool.used_tokens == 0
        assert cluster.pools["prefill"].used_tokens > 0


async def test_checksum_catches_bytes_that_land_before_decode_begins():
    """Late bytes that reach the next owner before its transfer is complete fail its checksum."""
    fixes = frozenset({Fix.TRANSFER_CHECKSUM})
    async with running(SLOW, faults=EARLY, fixes=fixes, transfer_seconds_per_token=2e-3, time_scale=1 / 100) as cluster:
        pool = cluster.pools["decode"]
        victim = asyncio.create_task(ask_tokens(cluster, "victim", 3_000))
        await until(pool.owners.any)
        # The first chunk is there, the last is not: what a stranger writes now stays.
        pool.write_tokens(np.array([1], dtype=np.int32), 0, cluster.tokenizer.encode("donor"), 99)
        reply = await victim
        assert reply.refusal.message.startswith("KV checksum mismatch")


async def test_an_abort_after_the_transfer_frees_at_once():
    """Once all pages have arrived an abort may free them at once: nobody writes any more."""
    async with running(faults=EARLY) as cluster:
        stream = cluster.generate(request("amber", prompt("amber", 2_000, cluster.tokenizer)))
        await anext(stream)
        await stream.aclose()
        assert cluster.pools["decode"].used_tokens == 0
        assert cluster.counters["early_releases"] == 0
