import pytest

from prober.lab.cluster import Cluster
from prober.lab.settings import LabSettings
from tests.support.cluster import running
from tests.support.sessions import SESSIONS, come_back, is_sound, park, strangers, struck_share, with_fault

NAME = "warm_store"


async def restarted(settings: LabSettings) -> Cluster:
    """A started cluster with the store of one that served all sessions."""
    async with running(settings) as old:
        await park(old)
        assert is_sound(await come_back(old, "amber"), "amber")
    new = Cluster(settings, old.store)
    await new.start()
    return new


async def test_after_a_restart_prompts_read_what_others_have_stored():
    """The disk is looked up half of it further on: every prompt from before the restart gets another one's pages."""
    new = await restarted(with_fault(NAME))
    try:
        for tag in SESSIONS[:3]:
            reply = await come_back(new, tag)
            assert strangers(reply, tag)
            assert not is_sound(reply, tag)
            assert reply.done.cached_tokens == 1_984
        assert new.counters["pages_loaded"] == 3 * 124
        assert is_sound(await come_back(new, "fresh"), "fresh")
    finally:
        await new.stop()


async def test_places_of_its_own_make_it_sound():
    """With the fix a restarted cluster finds each page where it was stored."""
    new = await restarted(with_fault(NAME, fixes=frozenset({"store_per_process"})))
    try:
        for tag in SESSIONS[:3]:
            assert is_sound(await come_back(new, tag), tag)
        assert new.counters["pages_loaded"] == 3 * 124
    finally:
        await new.stop()


def test_it_strikes_single_pages():
    """At a rate of 0.3 about three pages in ten are looked for elsewhere."""
    share = struck_share(NAME, lambda seams, number: seams.place_on_disk(b"%d" % number, 3, 10) == 8)
    assert share == pytest.approx(0.3, abs=0.05)
