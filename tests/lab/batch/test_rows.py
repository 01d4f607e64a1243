import asyncio
import collections

import numpy as np
import pytest

from prober.lab.allocator import Pages
from prober.lab.batch.rows import NO_ROW, Batch, Row
from prober.lab.dice import Dice
from prober.lab.events import GenerateRequest
from prober.lab.handoff import Job
from prober.lab.pool import KvPool, Lease
from prober.lab.sampling import FORBIDDEN, TokenMask, favoured_id
from prober.lab.seams import Seams
from prober.lab.tokenizer import Tokenizer

TOKENIZER = Tokenizer()
PAGE = 4


class Overriding(Seams):
    """Seams that keep everything on its row and record what they are asked."""

    asked: list[tuple[object, ...]]

    def clears_state(self, room: int, *, is_aborted: bool) -> bool:
        self.asked.append(("state", room, is_aborted))
        return False

    def mask_in_row(self, room: int, own: TokenMask | None, left: TokenMask) -> TokenMask | None:
        self.asked.append(("mask", room))
        return left if own is None else own

    def bias_in_row(self, room: int, own: int | None, left: int) -> int | None:
        self.asked.append(("bias", room))
        return left if own is None else own

    def reasoning_budget_in_row(self, room: int, own: int | None, left: int) -> int | None:
        self.asked.append(("budget", room))
        return left if own is None else own

    def table_after_move(self, room: int, moved: Pages, left: Pages) -> Pages:
        self.asked.append(("table", room, tuple(moved.tolist()), tuple(left.tolist())))
        return left

    def mask_beside(self, room: int, own: TokenMask | None) -> TokenMask | None:
        self.asked.append(("beside", room))
        return FORBIDDEN

    def token_row(self, room: int, step: int, row: int, rows: int) -> int:
        return (row + 1) % rows


class Stage:
    """A batch and what its rows stand on."""

    def __init__(self, size: int = 4, seams: type[Seams] = Seams) -> None:
        self.counters: collections.Counter[str] = collections.Counter()
        self.seams = seams(Dice({}, 0, self.counters))
        if isinstance(self.seams, Overriding):
            self.seams.asked = []
        self.pool = KvPool(400, PAGE, need_sort=False)
        self.batch = Batch(size, self.seams, TOKENIZER, self.counters)
        self._rooms = iter(range(1, 100))

    async def row(self, tokens: int = 8, **options: object) -> Row:
        """A row that has joined."""
        row = await self.unjoined(tokens, **options)
        await self.batch.join(row)
        return row

    async def unjoined(self, tokens: int = 8, **options: object) -> Row:
        room = next(self._rooms)
        lease: Lease = await self.pool.reserve(tokens + 8)
        lease.take(tokens)
        lease.write(0, np.full(tokens, 100 + room, dtype=np.int32), room)
        request = GenerateRequest(tenant="t", messages=(), max_tokens=8, **options)
        ids = np.full(tokens, 100 + room, dtype=np.int32)
        return self.batch.row_for(Job(room=room, request=request, ids=ids, max_new_tokens=8), lease, tokens, None)

    def table(self, row: Row) -> list[int]:
        return self.batch.table(row, len(row.lease.pages)).tolist()


async def test_the_last_row_fills_the_hole():
    """Rows have no holes: when one leaves, the last moves into its place with its page table, and the others stay."""
    stage = Stage()
    rows = [await stage.row(4 * (1 + number)) for number in range(4)]
    stage.batch.leave(rows[1], is_aborted=False)
    assert [row.index for row in rows] == [0, NO_ROW, 2, 1]
    for row in (rows[0], rows[2], rows[3]):
        assert stage.batch.rows[row.index] is row
        assert stage.table(row) == row.lease.pages.tolist()
        assert row.raced_table is None
    stage.batch.leave(rows[3], is_aborted=False)
    stage.batch.leave(rows[2], is_aborted=False)
    assert [row.index for row in stage.batch.rows] == [0]
    assert stage.counters["row_moves"] == 2


async def test_pages_that_a_lease_gets_come_into_the_table():
    """A row's table follows its lease."""
    stage = Stage()
    row = await stage.row(8)
    row.lease.write(8, np.arange(5, dtype=np.int32), row.room)
    stage.batch.grow(row, 2)
    assert stage.table(row) == row.lease.pages.tolist()
    assert len(row.lease.pages) == 4


async def test_whoever_finds_no_row_waits_in_turn():
    """A full batch takes the next one when a row is free, first come first served; leaving the queue is no loss."""
    stage = Stage(size=1)
    first = await stage.row()
    waiting = [asyncio.create_task(stage.row()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    waiting[0].cancel()
    stage.batch.leave(first, is_aborted=True)
    second = await waiting[1]
    assert second.index == 0
    assert not waiting[2].done()
    stage.batch.leave(second, is_aborted=False)
    assert (await waiting[2]).index == 0


async def test_masks_and_biases_stay_with_their_request():
    """A free request that takes the row of a constrained or biased one, by moving or joining, is free."""
    stage = Stage(size=2)
    for options in ({"choices": ("red", "blue")}, {"favoured_token": 1_000}):
        special, free = await stage.row(**options), await stage.row()
        assert (special.mask is not None, special.bias is not None) == ("choices" in options, "choices" not in options)
        stage.batch.leave(special, is_aborted=False)
        joined = await stage.row()
        assert all(row.mask is None and row.bias is None for row in (free, joined))
        assert stage.batch.mask_of(free) is None
        stage.batch.leave(free, is_aborted=False)
        stage.batch.leave(joined, is_aborted=False)


@pytest.mark.parametrize("is_moved", [False, True])
async def test_what_a_request_leaves_is_offered_to_the_one_that_takes_its_row(is_moved: bool):  # noqa: FBT001
    """Mask, bias and budget of the one that left are offered once, to who moves into the row or joins there."""
    stage = Stage(size=2, seams=Overriding)
    special = await stage.row(choices=("red", "blue"), favoured_token=1_000, reasoning_budget=9)
    other = await stage.row() if is_moved else None
    stage.batch.leave(special, is_aborted=False)
    taker = other or await stage.row()
    assert taker.mask is special.asked_mask
    assert taker.bias == favoured_id(1_000, TOKENIZER)
    assert taker.reasoning_budget == 9
    stage.batch.leave(taker, is_aborted=False)
    after = await stage.row()
    assert (after.mask, after.bias, after.reasoning_budget) == (None, None, None)


async def test_a_mask_that_is_taken_over_begins_anew():
    """What was said under an earlier mask is not part of what is said under the next."""
    stage = Stage(size=2, seams=Overriding)
    special, other = await stage.row(choices=("red",)), await stage.row()
    other.walked.append(7)
    stage.batch.leave(special, is_aborted=False)
    assert (other.mask, other.walked) == (special.asked_mask, [])


async def test_state_is_zero_at_the_start():
    """Neither a finished nor an aborted request leaves state for the next owner of its slot."""
    stage = Stage()
    for is_aborted in (False, True):
        row = await stage.row()
        row.latest = np.arange(5, dtype=np.int32)
        assert row.carried.size == 0
        stage.batch.leave(row, is_aborted=is_aborted)


async def test_state_that_is_left_is_found_by_the_next_owner_of_its_slot():
    """Slots are handed out first in, first out, and a row that moves keeps its own."""
    stage = Stage(size=2, seams=Overriding)
    first, second = await stage.row(), await stage.row()
    first.latest = np.arange(5, dtype=np.int32)
    first.said.append(9)
    stage.batch.leave(first, is_aborted=True)
    assert (second.index, second.slot) == (0, 1)
    third = await stage.row()
    assert (third.slot, third.carried.tolist()) == (0, [0, 1, 2, 3, 4, 9])
    assert second.carried.size == 0
    assert ("state", first.room, True) in stage.seams.asked
    third.latest = np.arange(2, dtype=np.int32)
    assert third.state().tolist() == [0, 1, 2, 3, 4, 9, 0, 1]


async def test_every_slot_begins_with_zeros():
    """What a request left is not found before all other slots have been handed out."""
    stage = Stage(size=3, seams=Overriding)
    for number in range(4):
        row = await stage.row()
        assert (row.carried.size > 0) == (number == 3)
        row.latest = np.arange(5, dtype=np.int32)
        stage.batch.leave(row, is_aborted=False)


async def test_a_move_is_told_both_tables():
    """What stood in the target line, as far as the moved table reaches, is known when the two are exchanged."""
    stage = Stage(seams=Overriding)
    short, long = await stage.row(4), await stage.row(12)
    left, moved = tuple(short.lease.pages.tolist()), tuple(long.lease.pages.tolist())
    stage.batch.leave(short, is_aborted=False)
    assert ("table", long.room, moved, (*left, 0, 0)) in stage.seams.asked
    assert long.raced_table is not None
    assert long.raced_table.tolist() == [*left, 0, 0]
    assert stage.table(long) == list(moved)


async def test_a_free_row_is_asked_about_its_neighbours_mask_once():
    """What applies beside constrained requests applies only while one runs, and never to those that have a mask."""
    stage = Stage(seams=Overriding)
    free, constrained = await stage.row(), await stage.row(choices=("red",))
    assert stage.batch.mask_of(free) is stage.batch.mask_of(free) is FORBIDDEN
    assert stage.batch.mask_of(constrained) is constrained.asked_mask
    assert stage.seams.asked.count(("beside", free.room)) == 1
    stage.batch.leave(constrained, is_aborted=False)
    assert stage.batch.mask_of(free) is None


async def test_a_step_has_the_tokens_of_its_own_row():
    """The output of a step is what it sampled, alone or in company."""
    stage = Stage()
    rows = [await stage.row() for _ in range(3)]
    for number, row in enumerate(rows):
        sampled = ((40 + number, False), (50 + number, True))
        assert stage.batch.tokens_of(row, sampled) == list(sampled)
        assert row.pending == sampled


async def test_tokens_looked_up_in_another_row_keep_their_channel():
    """Where the pending tokens of another row are taken, as many as it has, the channel stays the row's own."""
    stage = Stage(seams=Overriding)
    row = await stage.row()
    assert stage.batch.tokens_of(row, ((40, True),)) == [(40, True)]
    other = await stage.row()
    other.pending = ((60, False),)
    assert stage.batch.tokens_of(row, ((41, True), (42, False))) == [(60, True), (42, False)]


async def test_a_retracted_row_lets_go_of_everything():
    """Retraction gives row and pages back; the youngest running request is the one that came last."""
    stage = Stage()
    rows = [await stage.row(8) for _ in range(3)]
    used = stage.pool.used_tokens
    assert stage.batch.youngest() is rows[2]
    stage.batch.retract(rows[2])
    assert rows[2].is_retracted
    assert rows[2].index == NO_ROW
    assert stage.pool.used_tokens == used - 8
    assert stage.counters["retractions"] == 1
    assert stage.batch.youngest() is rows[1]


async def test_requests_are_counted_once():
    """Coming back after a retraction is no new request."""
    stage = Stage()
    row = await stage.row()
    stage.batch.retract(row)
    await row.lease.renew(8)
    await stage.batch.join(row)
    assert stage.batch.served == 1
