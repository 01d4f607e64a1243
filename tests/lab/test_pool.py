import asyncio

import numpy as np
import pytest

from prober.domain.errors import LabError
from prober.lab.pool import NOBODY, KvPool, Lease


def pool_of(pages: int = 8) -> KvPool:
    return KvPool(pages * 4, 4, need_sort=False)


def ids(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int32)


async def test_a_page_table_reads_what_its_pages_hold_whoever_wrote_it():
    """Pages are zero at first and keep the earlier owner's ids after release: reading tells no owner."""
    pool = pool_of()
    lease = await pool.reserve(8)
    lease.take(8)
    assert lease.read(6).tolist() == [0] * 6
    lease.write(0, ids(5, 6, 7, 8, 9), owner=1)
    lease.release()
    successor = await pool.reserve(8)
    successor.take(8)
    successor.write(0, ids(40), owner=2)
    assert successor.read(7).tolist() == [40, 6, 7, 8, 9, 0, 0]
    assert pool.owners[1:4].tolist() == [2, 1, NOBODY]
    successor.release()


async def test_decode_steps_take_pages_one_at_a_time():
    """Writing past the table's end takes one more promised page."""
    pool = pool_of()
    lease = await pool.reserve(9)
    lease.take(4)
    for position in range(4, 9):
        lease.write(position, ids(position), owner=1)
    assert len(lease.pages) == 3
    assert lease.read(9).tolist() == [0, 0, 0, 0, 4, 5, 6, 7, 8]
    lease.release()


async def test_taking_more_than_promised_is_our_own_fault():
    """A pool that is asked for a page it does not have says so instead of handing out a wrong one."""
    pool = pool_of(2)
    lease = await pool.reserve(8)
    lease.take(8)
    with pytest.raises(LabError):
        lease.write(8, ids(1), owner=1)
    with pytest.raises(LabError):
        await pool.reserve(9)


async def test_room_is_given_first_come_first_served_with_head_of_line_blocking():
    """A small request does not overtake a big one that waits before it."""
    pool = pool_of(8)
    held = await pool.reserve(20)
    held.take(20)
    order: list[str] = []

    async def want(name: str, tokens: int) -> Lease:
        lease = await pool.reserve(tokens)
        order.append(name)
        return lease

    big = asyncio.create_task(want("big", 24))
    await asyncio.sleep(0)
    small = asyncio.create_task(want("small", 4))
    await asyncio.sleep(0)
    assert (order, pool.waiting) == ([], 2)
    held.release()
    await asyncio.wait([big, small])
    assert order == ["big", "small"]
    for task in (big, small):
        task.result().release()
        task.result().release()  # once more changes nothing
    assert pool.available_tokens == 32


async def test_a_waiter_that_gives_up_lets_the_next_one_in():
    """Cancelling the head of the queue admits who stands behind it, and loses no promise."""
    pool = pool_of(8)
    held = await pool.reserve(20)
    big = asyncio.create_task(pool.reserve(24))
    await asyncio.sleep(0)
    small = asyncio.create_task(pool.reserve(4))
    await asyncio.sleep(0)
    big.cancel()
    lease = await small
    lease.release()
    held.release()
    assert pool.available_tokens == 32


async def test_a_waiter_cancelled_after_it_was_admitted_returns_its_promise():
    """A promise made in the very moment of a cancellation is given back."""
    pool = pool_of(8)
    held = await pool.reserve(32)
    waiting = asyncio.create_task(pool.reserve(8))
    await asyncio.sleep(0)
    held.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert pool.available_tokens == 32


async def test_stamps_tell_when_pages_were_written():
    """The latest write to a page table is known, so that an answer notices late bytes."""
    pool = pool_of()
    lease = await pool.reserve(8)
    lease.take(8)
    lease.write(0, ids(1), owner=1)
    seen = pool.latest_write(lease.pages)
    pool.write_pages(lease.pages[1:], np.ones((1, 4), dtype=np.int32), np.array([7]))
    assert pool.latest_write(lease.pages) > seen
    assert pool.latest_write(lease.pages[:1]) == seen
    assert pool.latest_write(lease.pages[:0]) == 0
    lease.release()


async def test_borrowed_and_ceded_pages_are_not_returned():
    """A table may hold pages that belong to others, from the start or from later on: release returns the rest."""
    pool = pool_of()
    owner = await pool.reserve(8)
    owner.take(8)
    owner.write(0, ids(1, 2, 3, 4, 5, 6, 7, 8), owner=1)
    reader = await pool.reserve(8)
    reader.borrow(owner.pages)
    reader.take(8)
    reader.write(8, ids(9), owner=2)
    assert reader.read(9).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert [reader.owns(place) for place in range(5)] == [False, False, True, True, False]
    reader.cede([2])
    reader.release()
    assert pool.available_tokens == 32 - 8 - 4
    owner.release()
    assert pool.available_tokens == 32 - 4


async def test_pages_that_are_given_up_do_not_include_what_was_borrowed():
    """A request that comes back later begins with an empty table, all of which will be its own."""
    pool = pool_of()
    owner = await pool.reserve(4)
    owner.take(4)
    reader = await pool.reserve(8)
    reader.borrow(owner.pages)
    reader.take(4)
    reader.give_up()
    assert pool.available_tokens == 28
    await reader.renew(8)
    reader.take(8)
    assert reader.owns(0)
    reader.release()
    owner.release()
    assert pool.available_tokens == 32
