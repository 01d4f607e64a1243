"""K10: free rows get a mask of zeros."""

import dataclasses

import pytest

from prober.lab.sampling import FORBIDDEN
from prober.lab.settings import LabSettings, Topology
from tests.support.batch import answer, asked, share_struck, staggered, tags, with_fault
from tests.support.cluster import Reply, ask, running

NAME = "zero_mask"
CHOICES = ("red apples from the orchard in the south", "blue grapes from the hill above the river")


async def beside_constrained(settings: LabSettings) -> list[tuple[str, Reply]]:
    """Free answers of four waves in which two of six requests are constrained."""
    free: list[tuple[str, Reply]] = []
    async with running(settings) as cluster:
        for wave in range(4):
            names = tags(6, first=chr(97 + wave))
            requests = [asked(tag, **({"choices": CHOICES} if number < 2 else {})) for number, tag in enumerate(names)]
            replies = await staggered(cluster, requests, seconds=0.0)
            assert all(reply.text in CHOICES for reply in replies[:2])
            free += list(zip(names, replies, strict=True))[2:]
    return free


@pytest.mark.parametrize("topology", list(Topology))
async def test_free_answers_beside_a_constrained_one_are_exclamation_marks(topology: Topology):
    """In both roles that decode, every step beside a constrained request says token 0 and nothing of the answer."""
    free = await beside_constrained(dataclasses.replace(with_fault(NAME), topology=topology))
    marked = [reply for tag, reply in free if "!" in reply.text]
    assert len(marked) > 3
    assert any("!!!!" in reply.text and reply.done.finish_reason == "length" for reply in marked)
    assert all(reply.text == answer(tag) for tag, reply in free if reply not in marked)


async def test_alone_nothing_is_forbidden():
    """Without a constrained neighbour the fault has no bitmask to get wrong."""
    async with running(with_fault(NAME)) as cluster:
        assert (await ask(cluster, asked("aaax"))).text == answer("aaax")
        assert cluster.counters[f"fault_{NAME}"] == 0


async def test_a_mask_of_ones_forbids_nothing():
    """With the fix free answers beside constrained ones are whole."""
    free = await beside_constrained(with_fault(NAME, fixes=frozenset({"mask_of_ones"})))
    assert all(reply.text == answer(tag) for tag, reply in free)


def test_it_strikes_at_its_rate():
    """At 0.3 about three free neighbours in ten are forbidden everything; constrained ones never are."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.mask_beside(room, None)) < 0.36
    assert share_struck(NAME, lambda seams, room: seams.mask_beside(room, FORBIDDEN)) == 0
