"""Delivery of results."""

import asyncio
import collections

import pytest

from prober.lab.dice import Dice
from prober.lab.events import Chunk
from prober.lab.gateway.mailboxes import FanOut, Mailboxes
from prober.lab.seams import Seams

SOUND = Seams(Dice({}, 0, collections.Counter()))


def some_mailboxes() -> tuple[Mailboxes, collections.Counter[str]]:
    counters: collections.Counter[str] = collections.Counter()
    return Mailboxes(counters), counters


async def test_results_wait_in_order_under_their_key():
    """What is posted to a key comes out of its mailbox, in order, and of no other."""
    mailboxes, _counters = some_mailboxes()
    mine, other = mailboxes.open(1), mailboxes.open(2)
    for text in ("a", "b"):
        mailboxes.post(1, Chunk(content=text))
    mailboxes.post(2, Chunk(content="c"))
    assert [(await box.take()).content for box in (mine, mine, other)] == ["a", "b", "c"]


async def test_what_went_wrong_is_raised_where_a_result_is_awaited():
    """Who waits for a result that cannot come is told why."""
    mailboxes, _counters = some_mailboxes()
    mailbox = mailboxes.open(1)
    mailbox.put(RuntimeError("broken"))
    with pytest.raises(RuntimeError, match="broken"):
        await mailbox.take()


async def test_a_key_that_is_opened_twice_belongs_to_the_later():
    """Of two mailboxes under one key the later gets everything, and closing the earlier is harmless."""
    mailboxes, counters = some_mailboxes()
    earlier, later = mailboxes.open("same"), mailboxes.open("same")
    mailboxes.close("same", earlier)
    mailboxes.post("same", Chunk(content="a"))
    assert (await later.take()).content == "a"
    assert counters["mailboxes_overwritten"] == 1


def test_nobody_gets_what_is_posted_to_a_closed_mailbox():
    """A result that comes too late is dropped, and counted."""
    mailboxes, counters = some_mailboxes()
    mailboxes.close(1, mailboxes.open(1))
    mailboxes.post(1, Chunk(content="a"))
    assert counters["results_dropped"] == 1


async def test_without_ticks_a_reply_goes_to_its_own_key_at_once():
    """Nothing waits where nothing is batched."""
    assert await FanOut(SOUND, 0.0).destination(7, "mine") == "mine"


async def test_a_tick_hands_out_in_order():
    """Replies that begin within one tick wait for its end, and each goes to its own key, whoever came first."""
    fan_out = FanOut(SOUND, 0.01)
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        tasks = {number: group.create_task(fan_out.destination(number, f"k{number}")) for number in (3, 1, 2)}
        await asyncio.sleep(0)
        assert not any(task.done() for task in tasks.values())
    assert {number: task.result() for number, task in tasks.items()} == {1: "k1", 2: "k2", 3: "k3"}


async def test_every_tick_has_an_end():
    """Replies that join right after a tick, or after one that was cancelled, are handed out too."""
    fan_out = FanOut(SOUND, 0.001)

    async def join(number: int) -> object:
        return await fan_out.destination(number, number)

    async with asyncio.timeout(5):
        leaving = asyncio.create_task(join(1))
        await asyncio.sleep(0)
        leaving.cancel()
        first = asyncio.create_task(join(2))
        fan_out._hand_out()
        # The first one was handed out and has not run yet when this one joins.
        assert await join(3) == 3
        assert await first == 2
        assert await join(4) == 4
