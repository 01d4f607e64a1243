import pytest

from prober.lab.fixes import Fix
from tests.support.cluster import running
from tests.support.sessions import come_back, is_sound, park, strangers, struck_share, with_fault

NAME = "load_error_ignored"


async def test_unread_pages_count_as_loaded_and_stay_wrong():
    """The load fails, the request goes on: its pages hold what was evicted, now and when it comes back once more."""
    async with running(with_fault(NAME)) as cluster:
        await park(cluster)
        for loads in (1, 1):
            reply = await come_back(cluster, "amber")
            assert cluster.counters["load_failures"] == cluster.counters[f"fault_{NAME}"] == loads
            assert strangers(reply, "amber")
            assert reply.done.cached_tokens >= 1_984
        assert cluster.counters["pages_loaded"] == 0


@pytest.mark.parametrize("fix", ["recompute_failed_loads"])
async def test_recomputing_makes_it_sound(fix: str):
    """With the fix nothing is read that was not loaded."""
    async with running(with_fault(NAME, fixes=frozenset({fix}))) as cluster:
        await park(cluster)
        assert is_sound(await come_back(cluster, "amber"), "amber")


async def test_failing_the_request_makes_it_a_500():
    """With vLLM's other policy a failed load is told, each time anew."""
    async with running(with_fault(NAME, fixes=frozenset({Fix.FAIL_FAILED_LOADS}))) as cluster:
        await park(cluster)
        for _ in range(2):
            refusal = (await come_back(cluster, "amber")).refusal
            assert (refusal.status, refusal.error_type) == (500, "InternalServerError")
            assert refusal.message.startswith("KV load failed for request ")


def test_it_strikes_the_same_prompts_again():
    """At a rate of 0.3 the loads of about three prompts in ten fail, and they do so every time."""
    share = struck_share(NAME, lambda seams, number: seams.trusts_failed_load(b"%d" % number))
    assert share == pytest.approx(0.3, abs=0.05)
