"""K6: attention reads the padding behind a prompt."""

import dataclasses

import pytest

from prober.lab.settings import Topology
from tests.support.batch import (
    BATCHED,
    answer,
    asked,
    crowd,
    foreign,
    phrase,
    seams_with,
    share_struck,
    unsound,
    with_fault,
)
from tests.support.cluster import ask, running

NAME = "padded_tail"


@pytest.mark.parametrize("topology", list(Topology))
async def test_a_short_prompt_reads_on_in_the_table_of_the_one_before(topology: Topology):
    """After a prompt of eight pages one of five goes on, behind its own answer, with what stands in the last three."""
    settings = dataclasses.replace(with_fault(NAME), topology=topology)
    async with running(settings) as cluster:
        assert (await ask(cluster, asked("aaax", lines=4))).text == answer("aaax")
        reply = await ask(cluster, asked("aabx", lines=2))
        assert reply.text.startswith(answer("aabx"))
        assert phrase("aaax") in reply.text
        assert cluster.counters[f"fault_{NAME}"] > 0


async def test_lengths_that_fill_their_bucket_are_sound():
    """A prompt of exactly a power of two of pages has no padding behind it."""
    async with running(with_fault(NAME)) as cluster:
        reply = await ask(cluster, asked("aaax", lines=4))
        assert 7 * 16 < reply.done.prompt_tokens <= 8 * 16
        assert cluster.counters[f"fault_{NAME}"] == 0


async def test_a_mixed_crowd_leaks():
    """Where lengths vary, many answers go on with other prompts' text; every one of them is right as far as it goes."""
    replies, _ = await crowd(with_fault(NAME), waves=4)
    assert len(foreign(replies)) > 6
    assert all(reply.text.startswith(answer(tag)) for tag, reply in replies.items())


async def test_a_mask_of_the_true_length_reads_the_prompt_alone():
    """With the fix nothing behind the prompt is attended to."""
    replies, _ = await crowd(with_fault(NAME, fixes=frozenset({"mask_true_length"})), waves=3)
    assert unsound(replies) == []


@pytest.mark.parametrize(("pages", "bucket"), [(1, 1), (2, 2), (3, 4), (5, 8), (8, 8), (9, 16)])
def test_buckets_are_powers_of_two(pages: int, bucket: int):
    """The padded length is the next power of two of pages."""
    seams, _ = seams_with(NAME)
    assert seams.attended_pages(1, pages) == bucket


def test_it_strikes_at_its_rate():
    """At 0.3 about three prompts in ten are read with their padding."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.attended_pages(room, 5)) < 0.36
    assert BATCHED.page_tokens == 16
