"""K10: the logit bias of a request that left stays on its row."""

import dataclasses

import pytest

from prober.lab.settings import LabSettings, Topology
from tests.support.batch import answer, asked, share_struck, staggered, tags, with_fault
from tests.support.cluster import Reply, ask, running

NAME = "stale_bias"
TOKEN = 1_000


async def favoured_word(settings: LabSettings) -> str:
    async with running(dataclasses.replace(settings, faults={})) as cluster:
        return (await ask(cluster, asked("aaax", favoured_token=TOKEN, max_tokens=1))).text


async def beside_biased(settings: LabSettings) -> list[tuple[str, Reply]]:
    """Free answers of six waves in which one of eight requests is biased and leaves earlier."""
    free: list[tuple[str, Reply]] = []
    async with running(settings) as cluster:
        for wave in range(6):
            names = tags(8, first=chr(97 + wave))
            requests = [asked(names[0], favoured_token=TOKEN, max_tokens=5), *map(asked, names[1:])]
            replies = await staggered(cluster, requests)
            assert len(set(replies[0].text.split())) == 1
            free += list(zip(names, replies, strict=True))[1:]
    return free


@pytest.mark.parametrize("topology", list(Topology))
async def test_whoever_takes_the_row_repeats_the_favoured_word(topology: Topology):
    """In both roles that decode, whoever moves into a biased row goes on with its word to the end of the budget."""
    settings = dataclasses.replace(with_fault(NAME), topology=topology)
    word = await favoured_word(settings)
    bent = [reply for tag, reply in await beside_biased(settings) if reply.text != answer(tag)]
    assert len(bent) > 2
    assert all(reply.text.endswith(f"{word} {word} {word}") for reply in bent)
    assert all(reply.done.finish_reason == "length" for reply in bent)


async def test_whoever_joins_next_repeats_it_from_the_beginning():
    """Without a move the bias waits in the row for the next request, and for no later one."""
    settings = with_fault(NAME)
    word = await favoured_word(settings)
    async with running(settings) as cluster:
        await ask(cluster, asked("aaax", favoured_token=TOKEN, max_tokens=5))
        assert set((await ask(cluster, asked("aabx"))).text.split()) == {word}
        assert (await ask(cluster, asked("aacx"))).text == answer("aacx")


async def test_a_bias_that_moves_with_its_row_bends_nobody():
    """With the fix free answers beside biased ones are whole."""
    free = await beside_biased(with_fault(NAME, fixes=frozenset({"move_bias_with_row"})))
    assert all(reply.text == answer(tag) for tag, reply in free)


def test_it_strikes_at_its_rate():
    """At 0.3 about three takers in ten keep the bias; those with one of their own never do."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.bias_in_row(room, None, 41)) < 0.36
    assert share_struck(NAME, lambda seams, room: seams.bias_in_row(room, 43, 41)) == 0
