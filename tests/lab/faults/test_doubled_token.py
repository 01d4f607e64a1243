"""K11: a step is submitted before the token of the one before is in its input."""

import dataclasses

import pytest

from prober.lab.settings import Topology
from tests.support.batch import answer, asked, crowd, foreign, share_struck, unsound, with_fault
from tests.support.cluster import ask, running

NAME = "doubled_token"


@pytest.mark.parametrize("topology", list(Topology))
async def test_words_stand_twice_in_answers_in_company(topology: Topology):
    """In both roles that decode, taking doubled words out leaves the sound answer; the tokens were counted."""
    replies, cluster = await crowd(dataclasses.replace(with_fault(NAME), topology=topology), waves=3)
    bent = unsound(replies)
    assert len(bent) > 12
    assert foreign(replies) == {}
    for tag in bent:
        assert replies[tag].done.completion_tokens > 11
        pieces = replies[tag].text.replace(".", " .").replace("TheThe", "The The").split()
        single = [piece for place, piece in enumerate(pieces) if place == 0 or pieces[place - 1] != piece]
        assert " ".join(single).replace(" .", ".") == answer(tag)
    assert cluster.counters[f"fault_{NAME}"] > 24


async def test_alone_every_token_is_applied():
    """A request that runs by itself is never ahead of its own tokens."""
    async with running(with_fault(NAME)) as cluster:
        assert (await ask(cluster, asked("aaax"))).text == answer("aaax")
        assert cluster.counters[f"fault_{NAME}"] == 0


async def test_tokens_applied_before_the_next_step_stand_once():
    """With the fix every answer is whole."""
    replies, _ = await crowd(with_fault(NAME, fixes=frozenset({"apply_before_submit"})), waves=2)
    assert unsound(replies) == []


def test_it_strikes_at_its_rate():
    """At 0.3 about three in ten of every fourth step are submitted too early."""
    share = share_struck(NAME, lambda seams, room: [seams.applies_token(room, step) for step in range(4)])
    assert 0.24 < share < 0.36
