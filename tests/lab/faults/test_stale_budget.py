"""K10: the reasoning budget of a request that left stays on its row."""

import dataclasses

import pytest

from prober.lab.scenes import SCENES
from prober.lab.settings import LabSettings, Topology
from tests.support.batch import answer, asked, share_struck, staggered, tags, with_fault
from tests.support.cluster import Reply, ask, running

NAME = "stale_budget"
THINKING = SCENES["small-batched-thinking"]
WHOLE = 40
"""Tokens of reasoning that nobody cut."""
BUDGET = 9


async def beside_budgeted(settings: LabSettings) -> list[Reply]:
    """Free answers of six waves in which one of eight requests has a budget and leaves in its reasoning."""
    free: list[Reply] = []
    async with running(settings) as cluster:
        for wave in range(6):
            names = tags(8, first=chr(97 + wave))
            requests = [asked(names[0], reasoning_budget=BUDGET, max_tokens=4), *map(asked, names[1:])]
            replies = await staggered(cluster, requests, seconds=0.0)
            assert replies[0].done.reasoning_tokens == 4
            assert [reply.text for reply in replies[1:]] == [answer(tag) for tag in names[1:]]
            free += replies[1:]
    return free


async def test_a_budget_is_kept_and_the_answer_is_whole():
    """Without the fault a request reasons as long as it asked for, and others as long as they like."""
    async with running(THINKING) as cluster:
        bound = await ask(cluster, asked("aaax", reasoning_budget=BUDGET))
        free = await ask(cluster, asked("aabx"))
    assert (bound.done.reasoning_tokens, free.done.reasoning_tokens) == (BUDGET, WHOLE)
    assert (bound.text, free.text) == (answer("aaax"), answer("aabx"))


@pytest.mark.parametrize("topology", list(Topology))
async def test_whoever_takes_the_row_stops_reasoning_where_the_other_had_to(topology: Topology):
    """In both roles that decode; nothing else of the answer is different."""
    free = await beside_budgeted(dataclasses.replace(with_fault(NAME, settings=THINKING), topology=topology))
    counts = [reply.done.reasoning_tokens for reply in free]
    assert counts.count(BUDGET) > 2
    assert all(BUDGET <= count <= WHOLE for count in counts)


async def test_whoever_joins_next_has_the_budget_and_no_later_one():
    """Without a move it waits in the row; who has a budget of its own keeps that."""
    async with running(with_fault(NAME, settings=THINKING)) as cluster:
        counts = []
        for tag, own in (("aaax", BUDGET), ("aabx", None), ("aacx", None), ("aadx", BUDGET), ("aaex", 17)):
            reply = await ask(cluster, asked(tag, reasoning_budget=own))
            counts.append(reply.done.reasoning_tokens)
    assert counts == [BUDGET, BUDGET, WHOLE, BUDGET, 17]


async def test_a_budget_that_moves_with_its_row_cuts_nobody_else():
    """With the fix free answers reason as long as ever."""
    fixed = with_fault(NAME, settings=THINKING, fixes=frozenset({"move_budget_with_row"}))
    assert {reply.done.reasoning_tokens for reply in await beside_budgeted(fixed)} == {WHOLE}


def test_it_strikes_at_its_rate():
    """At 0.3 about three takers in ten keep the budget; those with one of their own never do."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.reasoning_budget_in_row(room, None, 41)) < 0.36
    assert share_struck(NAME, lambda seams, room: seams.reasoning_budget_in_row(room, 43, 41)) == 0
