"""K18: scratch memory holds numbers that are none."""

import dataclasses

import pytest

from prober.lab.settings import Topology
from tests.support.batch import answer, asked, foreign, seams_with, share_struck, with_fault
from tests.support.cluster import Reply, ask, running

NAME = "nan_scratch"


async def answers(count: int, topology: Topology = Topology.AGGREGATED, **changes: object) -> dict[str, Reply]:
    settings = dataclasses.replace(with_fault(NAME, **changes), topology=topology)
    async with running(settings) as cluster:
        names = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}ax" for number in range(count)]
        return {tag: await ask(cluster, asked(tag)) for tag in names}


@pytest.mark.parametrize("topology", list(Topology))
async def test_every_sixth_answer_after_a_start_is_garbage_or_nothing(topology: Topology):
    """In both roles that decode, 16 of the first 96 answers are wrong, some of them empty; then all are sound."""
    replies = await answers(104, topology)
    bad = [number for number, (tag, reply) in enumerate(replies.items(), 1) if reply.text != answer(tag)]
    assert bad == list(range(6, 97, 6))
    texts = [reply.text for reply in replies.values() if reply.done.finish_reason == "stop"]
    assert len(texts) == 104
    assert 1 <= texts.count("") <= 9
    assert foreign(replies) == {}


async def test_scratch_that_is_zeroed_harms_nobody():
    """With the fix the first answer is sound."""
    replies = await answers(12, fixes=frozenset({"zero_scratch"}))
    assert all(reply.text == answer(tag) for tag, reply in replies.items())


def test_it_ends_after_96_requests():
    """The 96th request reads it, the 102nd does not."""
    seams, _ = seams_with(NAME)
    assert [served for served in range(1, 200) if seams.reads_nan(1, served)] == list(range(6, 97, 6))


def test_it_strikes_at_its_rate():
    """At 0.3 about three of the first requests in ten read it."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.reads_nan(room, 6)) < 0.36
