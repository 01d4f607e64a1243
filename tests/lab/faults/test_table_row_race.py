"""K6: a moved row's page table is read while it is half copied."""

import dataclasses

import numpy as np
import pytest

from prober.lab.scenes import SCENES
from prober.lab.settings import Topology
from tests.support.batch import crowd, foreign, seams_with, share_struck, unsound, with_fault

NAME = "table_row_race"
SPECULATIVE = SCENES["small-speculative"]


def pages(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


@pytest.mark.parametrize("topology", list(Topology))
async def test_words_of_the_request_that_left_come_into_the_moved_answer(topology: Topology):
    """In both roles that decode, some moved answers hold words of another prompt, most of them amid their own."""
    settings = dataclasses.replace(with_fault(NAME, settings=SPECULATIVE), topology=topology)
    replies, cluster = await crowd(settings, waves=8)
    assert cluster.counters[f"fault_{NAME}"] == cluster.counters["row_moves"] > 10
    leaks = foreign(replies)
    assert len(leaks) > 2
    assert 2 * sum(tag in replies[tag].text for tag in leaks) > len(leaks)
    assert set(leaks) <= set(unsound(replies))


def test_all_but_the_first_page_are_those_of_the_request_that_left():
    """The wrong table has the own first page, then what stood in the target line; neither table is written to."""
    seams, _ = seams_with(NAME)
    moved, left = pages(1, 2, 3), pages(7, 8, 0)
    assert seams.table_after_move(1, moved, left).tolist() == [1, 8, 0]
    assert (moved.tolist(), left.tolist()) == ([1, 2, 3], [7, 8, 0])


async def test_a_step_after_the_copy_reads_the_own_table():
    """With the fix every move is harmless."""
    fixed = with_fault(NAME, settings=SPECULATIVE, fixes=frozenset({"step_after_copy"}))
    replies, cluster = await crowd(fixed, waves=3)
    assert unsound(replies) == []
    assert cluster.counters["row_moves"] > 5


def test_it_strikes_at_its_rate():
    """At 0.3 about three moves in ten go wrong, the others right."""
    share = share_struck(NAME, lambda seams, room: seams.table_after_move(room, pages(1, 2), pages(3, 4)))
    assert 0.24 < share < 0.36
