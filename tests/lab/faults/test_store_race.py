import pytest

from tests.support.cluster import running
from tests.support.sessions import OTHER_SESSIONS, come_back, is_sound, park, struck_share, with_fault

NAME = "store_race"


async def test_the_stored_copy_of_the_last_page_is_what_stood_there_before():
    """The device answers rightly; once evicted and restored, the page that held the question holds older text."""
    async with running(with_fault(NAME)) as cluster:
        await park(cluster)
        await park(cluster, OTHER_SESSIONS)
        last = OTHER_SESSIONS[-1]
        assert is_sound(await come_back(cluster, last), last)
        reply = await come_back(cluster, OTHER_SESSIONS[0])
        assert cluster.counters["pages_loaded"] > 60
        assert cluster.census[-1].foreign == 0  # the request itself has written what it restored
        assert "The harbour phrase is" not in reply.text


async def test_storing_after_the_write_makes_it_sound():
    """With the fix the restored prompt is the one that was stored."""
    async with running(with_fault(NAME, fixes=frozenset({"store_after_write"}))) as cluster:
        await park(cluster)
        assert is_sound(await come_back(cluster, "amber"), "amber")
        assert cluster.counters["pages_loaded"] > 60


def test_it_strikes_single_requests():
    """At a rate of 0.3 about three prompts in ten are stored early."""
    share = struck_share(NAME, lambda seams, number: seams.snapshots_early(number))
    assert share == pytest.approx(0.3, abs=0.05)
