import pytest

from tests.support.cluster import running
from tests.support.sessions import OTHER_SESSIONS, come_back, is_sound, park, struck_share, with_fault

NAME = "partial_batch_hit"


async def test_keys_before_the_one_without_memory_count_as_read():
    """A load larger than the staging buffer reads nothing, and as many pages as that holds keep what was evicted."""
    async with running(with_fault(NAME)) as cluster:
        await park(cluster)
        await park(cluster, OTHER_SESSIONS)  # nothing of the first sessions is left on the device
        reply = await come_back(cluster, "amber")
        assert (cluster.counters[f"fault_{NAME}"], cluster.counters["pages_loaded"]) == (1, 0)
        assert cluster.census[-1].foreign == 112
        assert reply.done.cached_tokens == 112 * 16
        assert "amber one two" not in reply.text


async def test_a_load_that_fits_is_read():
    """What is left to restore of a prompt is restored rightly where the staging buffer suffices."""
    async with running(with_fault(NAME), staging_tokens=2_048) as cluster:
        await park(cluster)
        assert is_sound(await come_back(cluster, "amber"), "amber")
        assert cluster.counters["pages_loaded"] > 64
        assert cluster.counters[f"fault_{NAME}"] == 0


async def test_loading_in_rounds_makes_it_sound():
    """With the fix the buffer is used several times, and every page is read."""
    async with running(with_fault(NAME, fixes=frozenset({"read_what_was_staged"}))) as cluster:
        await park(cluster)
        await park(cluster, OTHER_SESSIONS)
        assert is_sound(await come_back(cluster, "amber"), "amber")
        assert cluster.counters["pages_loaded"] == 124


def test_it_strikes_single_loads():
    """At a rate of 0.3 about three loads in ten that find too little memory count as done."""
    share = struck_share(NAME, lambda seams, number: seams.counts_unread_pages(number))
    assert share == pytest.approx(0.3, abs=0.05)
