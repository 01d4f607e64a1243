"""K11: placeholders are written out."""

import dataclasses

import pytest

from prober.lab.settings import Topology
from tests.support.batch import answer, asked, crowd, share_struck, unsound, with_fault
from tests.support.cluster import ask, running

NAME = "lost_token"


@pytest.mark.parametrize("topology", list(Topology))
async def test_whoever_joins_others_gets_an_answer_without_content(topology: Topology):
    """In both roles that decode: finish reason `stop`, all tokens counted, and not one chunk."""
    replies, cluster = await crowd(dataclasses.replace(with_fault(NAME), topology=topology), waves=3)
    lost = unsound(replies)
    assert len(lost) == cluster.counters[f"fault_{NAME}"] > 12
    for tag in lost:
        (done,) = replies[tag].events
        assert (done.finish_reason, done.completion_tokens) == ("stop", 11)


async def test_alone_no_placeholder_is_needed():
    """A request that finds nobody running keeps its tokens."""
    async with running(with_fault(NAME)) as cluster:
        assert (await ask(cluster, asked("aaax"))).text == answer("aaax")
        assert cluster.counters[f"fault_{NAME}"] == 0


async def test_placeholders_that_are_filled_become_text():
    """With the fix every answer is whole."""
    replies, _ = await crowd(with_fault(NAME, fixes=frozenset({"fill_before_output"})), waves=2)
    assert unsound(replies) == []


def test_it_strikes_at_its_rate():
    """At 0.3 about three requests in ten that join others lose their tokens."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.fills_placeholders(room)) < 0.36
