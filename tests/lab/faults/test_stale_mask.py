"""K10: the token mask of a request that left stays on its row."""

import dataclasses

import pytest

from prober.lab.sampling import FORBIDDEN
from prober.lab.settings import LabSettings, Topology
from tests.support.batch import answer, asked, share_struck, staggered, tags, with_fault
from tests.support.cluster import Reply, ask, running

NAME = "stale_mask"
CHOICES = ("red", "blue")


async def beside_constrained(settings: LabSettings) -> list[tuple[str, Reply]]:
    """Free answers of six waves in which two of eight requests are constrained and leave earlier."""
    free: list[tuple[str, Reply]] = []
    async with running(settings) as cluster:
        for wave in range(6):
            names = tags(8, first=chr(97 + wave))
            requests = [
                asked(tag, **({"choices": CHOICES} if number in {0, 3} else {})) for number, tag in enumerate(names)
            ]
            replies = await staggered(cluster, requests)
            assert replies[0].text in CHOICES
            assert replies[3].text in CHOICES
            free += [pair for number, pair in enumerate(zip(names, replies, strict=True)) if number not in {0, 3}]
    return free


@pytest.mark.parametrize("topology", list(Topology))
async def test_a_free_answer_turns_into_a_choice_of_the_request_that_left(topology: Topology):
    """In both roles that decode, whoever takes the row ends with one of the other's choices, or says nothing else."""
    free = await beside_constrained(dataclasses.replace(with_fault(NAME), topology=topology))
    bent = [reply.text for tag, reply in free if reply.text != answer(tag)]
    assert len(bent) > 3
    assert all(text.endswith(CHOICES) for text in bent)


async def test_whoever_joins_next_says_a_choice_and_nothing_else():
    """Without a move the mask waits in the row for the next free request, and for no later one."""
    async with running(with_fault(NAME)) as cluster:
        assert (await ask(cluster, asked("aaax", choices=CHOICES))).text in CHOICES
        assert (await ask(cluster, asked("aabx"))).text in CHOICES
        assert (await ask(cluster, asked("aacx"))).text == answer("aacx")


async def test_a_mask_that_moves_with_its_row_bends_nobody():
    """With the fix free answers beside constrained ones are whole."""
    free = await beside_constrained(with_fault(NAME, fixes=frozenset({"move_mask_with_row"})))
    assert all(reply.text == answer(tag) for tag, reply in free)


def test_it_strikes_at_its_rate():
    """At 0.3 about three free takers in ten keep the mask; constrained ones never do."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.mask_in_row(room, None, FORBIDDEN)) < 0.36
    assert share_struck(NAME, lambda seams, room: seams.mask_in_row(room, FORBIDDEN, FORBIDDEN)) == 0
