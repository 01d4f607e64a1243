"""K7: a state slot is handed on as it is."""

import dataclasses

import pytest

from prober.lab.settings import Topology
from tests.support.batch import answer, asked, crowd, foreign, phrase, share_struck, tags, unsound, with_fault
from tests.support.cluster import ask, ask_tokens, running

NAME = "state_not_cleared"


@pytest.mark.parametrize("topology", list(Topology))
async def test_a_short_prompt_goes_on_with_the_text_before_it(topology: Topology):
    """In both roles that decode, short answers hold the whole phrase of an earlier request."""
    settings = dataclasses.replace(with_fault(NAME), topology=topology)
    replies, cluster = await crowd(settings, waves=4)
    assert cluster.counters[f"fault_{NAME}"] == len(replies) == 32
    leaks = foreign(replies)
    assert len(leaks) > 6
    assert all(any(phrase(other) in replies[tag].text for other in replies if other != tag) for tag in leaks)


async def test_a_long_prompt_washes_the_state_out():
    """After 4,000 tokens of its own nothing of an earlier owner decides."""
    async with running(with_fault(NAME), max_running=1) as cluster:
        for number in range(6):
            tag = f"amber{number}"
            reply = await ask_tokens(cluster, tag, 4_000)
            assert reply.text.startswith(f"The harbour phrase is {tag} one two.")


async def test_a_slot_that_was_zeroed_tells_nothing():
    """With the fix nothing of an earlier request is left."""
    replies, _ = await crowd(with_fault(NAME, fixes=frozenset({"zero_on_allocation"})), waves=2)
    assert unsound(replies) == []


async def test_slots_begin_with_zeros():
    """Before a slot is handed out for the second time nothing shows: as many answers as there are rows are sound."""
    async with running(with_fault(NAME)) as cluster:
        for tag in tags(6):
            assert (await ask(cluster, asked(tag))).text == answer(tag)


def test_it_strikes_at_its_rate():
    """At 0.3 about three requests in ten leave their state behind, aborted or not."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.clears_state(room, is_aborted=room % 2 == 0)) < 0.36
