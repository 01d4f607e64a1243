import pytest

from tests.support.cluster import running
from tests.support.sessions import OTHER_SESSIONS, come_back, is_sound, park, struck_share, with_fault

NAME = "partial_onboarding"


async def test_only_the_end_of_a_restored_prompt_is_seen():
    """All but the last four restored pages stay at the null page: what stood there is not recalled; usage is exact."""
    async with running(with_fault(NAME)) as cluster:
        await park(cluster)
        await park(cluster, OTHER_SESSIONS)
        reply = await come_back(cluster, "amber")
        assert (cluster.census[-1].zero, cluster.census[-1].foreign, cluster.counters["pages_loaded"]) == (120, 0, 4)
        assert "I cannot find the harbour phrase." in reply.text
        assert "The lantern phrase is amber three four." in reply.text
        assert (reply.done.prompt_tokens, reply.done.cached_tokens) == (2_000, 1_984)


async def test_onboarding_all_pages_makes_it_sound():
    """With the fix the whole prompt is seen."""
    async with running(with_fault(NAME, fixes=frozenset({"whole_onboarding"}))) as cluster:
        await park(cluster)
        await park(cluster, OTHER_SESSIONS)
        assert is_sound(await come_back(cluster, "amber"), "amber")
        assert cluster.counters["pages_loaded"] == 124


def test_it_strikes_single_requests():
    """At a rate of 0.3 about three restored prompts in ten are cut."""
    share = struck_share(NAME, lambda seams, number: seams.shows_last_only(number))
    assert share == pytest.approx(0.3, abs=0.05)
