"""K7: an abort leaves its slot as it is."""

import contextlib
import dataclasses

import pytest

from prober.lab.cluster import Cluster
from prober.lab.settings import LabSettings, Topology
from tests.support.batch import COPIED, answer, asked, share_struck, with_fault
from tests.support.cluster import ask, running

NAME = "aborted_slot"


async def quit_early(cluster: Cluster, tag: str) -> None:
    """Hang up after the third piece of the answer."""
    async with contextlib.aclosing(cluster.generate(asked(tag, lines=5, question=COPIED))) as stream:
        for _ in range(3):
            await anext(stream)


async def answers_after_aborts(settings: LabSettings) -> list[str]:
    """Aborted donors whose words are in the answers of short victims that get their only slot right after them."""
    leaked = []
    async with running(settings, max_running=1) as cluster:
        for number in range(8):
            donor, victim = f"d{chr(97 + number)}ax", f"v{chr(97 + number)}ax"
            await quit_early(cluster, donor)
            reply = await ask(cluster, asked(victim, lines=0))
            assert reply.text == answer(victim) or donor in reply.text
            leaked += [donor] * (donor in reply.text)
    return leaked


@pytest.mark.parametrize("topology", list(Topology))
async def test_the_next_short_prompt_goes_on_with_the_aborted_text(topology: Topology):
    """In both roles that decode, most victims that come right after an abort say the donor's words."""
    assert len(await answers_after_aborts(dataclasses.replace(with_fault(NAME), topology=topology))) > 4


async def test_a_slot_that_an_abort_clears_tells_nothing():
    """With the fix an abort leaves as little as an end does."""
    assert await answers_after_aborts(with_fault(NAME, fixes=frozenset({"clear_on_abort"}))) == []


async def test_whoever_ends_leaves_nothing():
    """The fault needs an abort: after answers that ended, nothing of them is said."""
    async with running(with_fault(NAME), max_running=1) as cluster:
        for tag in ("aaax", "aabx", "aacx"):
            assert (await ask(cluster, asked(tag))).text == answer(tag)
        assert cluster.counters[f"fault_{NAME}"] == 0


def test_it_strikes_at_its_rate():
    """At 0.3 about three aborts in ten leave their state behind."""
    assert 0.24 < share_struck(NAME, lambda seams, room: seams.clears_state(room, is_aborted=True)) < 0.36
