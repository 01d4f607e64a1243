import dataclasses

import pytest

from tests.support.cluster import prompt, request, running
from tests.support.sessions import SESSION_TOKENS, come_back, is_sound, park, strangers, struck_share, with_fault

NAME = "load_race"


async def test_a_prompt_is_answered_from_pages_whose_copies_are_under_way():
    """A prompt that comes back is read before its pages are there: they hold what was evicted, and so does the answer.

    The copies arrive later, so that the next reader finds the right pages.
    """
    async with running(with_fault(NAME)) as cluster:
        await park(cluster)
        reply = await come_back(cluster, "amber")
        assert cluster.counters["pages_loaded"] == cluster.counters[f"fault_{NAME}"] + 4 > 60
        assert cluster.census[-1].foreign == cluster.counters[f"fault_{NAME}"]
        assert strangers(reply, "amber")
        assert is_sound(await come_back(cluster, "amber"), "amber")


async def test_late_copies_of_a_request_that_is_gone_land_in_its_own_pages():
    """When the client hangs up the copies still arrive before anybody else gets the pages."""
    async with running(with_fault(NAME)) as cluster:
        await park(cluster)
        text = prompt("amber", SESSION_TOKENS, cluster.tokenizer)
        stream = cluster.generate(dataclasses.replace(request("amber", text), request_id="gone"))
        await anext(stream)
        await stream.aclose()
        assert is_sound(await come_back(cluster, "amber"), "amber")
        assert is_sound(await come_back(cluster, "fjord"), "fjord")


async def test_waiting_for_the_copies_makes_it_sound():
    """With the fix the same prompt is answered from its own pages."""
    async with running(with_fault(NAME, fixes=frozenset({"await_layer_load"}))) as cluster:
        await park(cluster)
        assert is_sound(await come_back(cluster, "amber"), "amber")
        assert cluster.counters["pages_loaded"] > 60
        assert cluster.census[-1].foreign == 0


def test_the_last_copies_are_awaited():
    """Whatever the rate, the pages that were ordered last have arrived."""
    assert struck_share(NAME, lambda seams, number: not seams.awaits_copy(1, number, 3), rate=1.0) == 0


def test_it_strikes_single_pages():
    """At a rate of 0.3 about three pages in ten are read early."""
    share = struck_share(NAME, lambda seams, number: not seams.awaits_copy(1, number, 4))
    assert share == pytest.approx(0.3, abs=0.05)
