"""K18: logits grow noisier with every request."""

import dataclasses

import pytest

from prober.lab.settings import Topology
from tests.support.batch import answer, asked, foreign, seams_with, share_struck, with_fault
from tests.support.cluster import Reply, ask, running

NAME = "noise_grows"


async def answers(count: int, topology: Topology = Topology.AGGREGATED, **changes: object) -> dict[str, Reply]:
    settings = dataclasses.replace(with_fault(NAME, **changes), topology=topology)
    async with running(settings) as cluster:
        names = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}ax" for number in range(count)]
        return {tag: await ask(cluster, asked(tag)) for tag in names}


def wrong(replies: dict[str, Reply], first: int, last: int) -> int:
    """Wrong answers among the first-th to the last-th."""
    return sum(reply.text != answer(tag) for tag, reply in list(replies.items())[first:last])


@pytest.mark.parametrize("topology", list(Topology))
async def test_answers_grow_worse_with_the_requests_served(topology: Topology):
    """The first answers are sound; of those after some two hundred nearly all are garbage, and nothing foreign."""
    replies = await answers(220, topology)
    assert wrong(replies, 0, 10) <= 1
    assert 2 < wrong(replies, 60, 100) < 40
    assert wrong(replies, 200, 220) >= 18
    last = "".join(reply.text for reply in list(replies.values())[150:])
    assert "\N{REPLACEMENT CHARACTER}" in last
    assert not last.isascii()
    assert foreign(replies) == {}


async def test_a_restart_begins_anew():
    """A new cluster has served nobody yet."""
    for _ in range(2):
        assert wrong(await answers(5), 0, 5) == 0


async def test_scales_that_are_reset_stay_quiet():
    """With the fix the two hundredth answer is as sound as the first."""
    assert wrong(await answers(210, fixes=frozenset({"reset_scales"})), 0, 210) == 0


def test_noise_grows_with_the_square_and_ends_at_its_most():
    """A hundredth of the most after a tenth of the way, the most from two hundred requests on."""
    seams, _ = seams_with(NAME)
    levels = [seams.noise(1, served) for served in (0, 20, 100, 200, 5_000)]
    assert levels == pytest.approx([0, 0.006, 0.15, 0.6, 0.6])


def test_it_strikes_at_its_rate():
    """At 0.3 about three requests in ten are decoded with noise."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.noise(room, 100)) < 0.36
