"""K11: a step's output is looked up in another row."""

import dataclasses

import pytest

from prober.lab.events import Chunk
from prober.lab.settings import Topology
from tests.support.batch import answer, asked, crowd, foreign, share_struck, staggered, tags, unsound, with_fault
from tests.support.cluster import ask, running

NAME = "stolen_token"


@pytest.mark.parametrize("topology", list(Topology))
async def test_single_words_of_neighbours_come_into_answers(topology: Topology):
    """In both roles that decode, answers in company hold single words of others that ran beside them."""
    replies, cluster = await crowd(dataclasses.replace(with_fault(NAME), topology=topology), waves=3)
    leaks = foreign(replies)
    assert len(leaks) > 6
    assert all(len(words) <= 4 for words in leaks.values())
    assert cluster.counters[f"fault_{NAME}"] > 24


async def test_alone_there_is_no_other_row():
    """A request that runs by itself has nobody to steal from."""
    async with running(with_fault(NAME)) as cluster:
        assert (await ask(cluster, asked("aaax"))).text == answer("aaax")
        assert cluster.counters[f"fault_{NAME}"] == 0


async def test_log_probabilities_tell_another_story():
    """Log probabilities stay with the row that sampled: their texts are the sound answer, the content is not."""
    async with running(with_fault(NAME)) as cluster:
        names = tags(6)
        replies = await staggered(cluster, [asked(tag, wants_logprobs=True) for tag in names])
    for tag, reply in zip(names, replies, strict=True):
        entries = [entry for event in reply.events if isinstance(event, Chunk) for entry in event.logprobs]
        assert "".join(entry.text for entry in entries) == answer(tag)
    assert sum(reply.text != answer(tag) for tag, reply in zip(names, replies, strict=True)) > 2


async def test_tokens_told_apart_by_request_are_the_own():
    """With the fix every answer is whole."""
    replies, _ = await crowd(with_fault(NAME, fixes=frozenset({"tokens_by_request"})), waves=2)
    assert unsound(replies) == []


def test_it_strikes_at_its_rate():
    """At 0.3 about three in ten of every fourth step look into another row, which is never the own one."""
    share = share_struck(NAME, lambda seams, room: [seams.token_row(room, step, 2, 3) for step in range(4)])
    assert 0.24 < share < 0.36
