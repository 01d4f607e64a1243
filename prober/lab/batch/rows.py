"""The batch: a fixed number of rows, taken from the lowest free one up; the last row fills the hole of one that leaves.

That move is what persistent batches do between two steps (vLLM `InputBatch.condense`), and where upstream's bugs sit:
whatever belongs to a row has to come along, and whatever its last occupant had must not stay.
"""

import asyncio
import collections
import dataclasses

import numpy as np

from prober.lab.allocator import Pages
from prober.lab.batch.page_tables import PageTables
from prober.lab.batch.recurrent import ZERO_STATE, state_after
from prober.lab.handoff import Job
from prober.lab.pool import Lease
from prober.lab.sampling import TokenMask, favoured_id
from prober.lab.seams import Seams
from prober.lab.tokenizer import Ids, Tokenizer

Said = tuple[int, bool]
"""A token: its id, and whether it is reasoning."""

NO_ROW = -1


@dataclasses.dataclass(slots=True, kw_only=True, eq=False)
class Row:
    """One running answer."""

    job: Job
    lease: Lease
    tokens: int
    """Of the prompt, as far as it was admitted."""
    first_id: int | None
    """What the prefill said already."""
    asked_mask: TokenMask | None
    asked_bias: int | None
    asked_reasoning_budget: int | None
    mask: TokenMask | None
    """What applies now; the request's own unless a fault says otherwise."""
    bias: int | None
    reasoning_budget: int | None
    """Tokens of reasoning after which the answer begins, those said already included; None: no end is set to it."""
    index: int = NO_ROW
    """Number of the row; `NO_ROW` before it joined and after it left."""
    slot: int = 0
    """Where its recurrent state is kept. Slots are handed out first in, first out, and do not move with the row."""
    mask_beside: TokenMask | None = None
    """What applies while a constrained answer runs beside."""
    has_asked_beside: bool = False
    carried: Ids = dataclasses.field(default_factory=lambda: ZERO_STATE, repr=False)
    """Recurrent state found in the slot at the start."""
    latest: Ids = dataclasses.field(default_factory=lambda: ZERO_STATE, repr=False)
    """Last ids of the prompt as the row read them."""
    raced_table: Pages | None = None
    """Page table of the next forward step alone."""
    walked: list[int] = dataclasses.field(default_factory=list, repr=False)
    """What was said under the mask that applies."""
    pending: tuple[Said, ...] = ()
    """Tokens of the step in flight."""
    steps: int = 0
    said: list[int] = dataclasses.field(default_factory=list, repr=False)
    reasoned: int = 0
    """Of what was said, tokens of reasoning."""
    has_company: bool = False
    """Others were running when it began."""
    follows_state: bool = False
    """Its LLM goes on with the state it found, not with its prompt."""
    seen: int = 0
    """Number of the latest write to the prompt's pages that it knows of."""
    is_lost: bool = False
    """Its placeholders never become text."""
    is_retracted: bool = False

    @property
    def room(self) -> int:
        """Name of the request."""
        return self.job.room

    @property
    def budget(self) -> int:
        """Tokens that it may still say."""
        return self.job.max_new_tokens - len(self.said)

    def state(self) -> Ids:
        """Recurrent state: the latest of all that went through the row."""
        return state_after(self.carried, self.latest, np.array(self.said, dtype=np.int32))

    def put_mask(self, mask: TokenMask | None) -> None:
        """Let a mask apply from here on."""
        if mask is not self.mask:
            self.mask = mask
            self.walked.clear()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """What stands in a row that nobody has."""

    mask: TokenMask | None = None
    bias: int | None = None
    reasoning_budget: int | None = None


class Batch:
    """All rows of one pool's decode loop. Row numbers below `len(rows)` are taken, without holes."""

    def __init__(self, size: int, seams: Seams, tokenizer: Tokenizer, counters: collections.Counter[str]) -> None:
        self.rows: list[Row] = []
        self.served = 0
        """Requests since the start."""
        self.constrained = 0
        """Rows whose request asked for constrained decoding."""
        self._seams = seams
        self._tokenizer = tokenizer
        self._counters = counters
        self._seats = asyncio.Semaphore(size)
        self._tables = PageTables(size)
        self._leftovers = [Leftover()] * size
        self._slots = collections.deque(range(size))
        self._states = [ZERO_STATE] * size

    def row_for(self, job: Job, lease: Lease, tokens: int, first_id: int | None) -> Row:
        """A row that has not joined yet."""
        self.served += 1
        request = job.request
        mask = TokenMask.of(request.choices, self._tokenizer)
        bias = None if request.favoured_token is None else favoured_id(request.favoured_token, self._tokenizer)
        return Row(
            job=job,
            lease=lease,
            tokens=tokens,
            first_id=first_id,
            asked_mask=mask,
            asked_bias=bias,
            asked_reasoning_budget=request.reasoning_budget,
            mask=mask,
            bias=bias,
            reasoning_budget=request.reasoning_budget,
        )

    async def join(self, row: Row) -> None:
        """Wait, first come first served, for a free row and take it."""
        await self._seats.acquire()
        row.index = len(self.rows)
        self.rows.append(row)
        self.constrained += row.asked_mask is not None
        self._tables.write(row.index, row.lease.pages)
        left, self._leftovers[row.index] = self._leftovers[row.index], Leftover()
        self._take_over(row, left)
        row.slot = self._slots.popleft()
        row.carried = self._states[row.slot]

    def leave(self, row: Row, *, is_aborted: bool) -> None:
        """Give the row back; the last one moves into the hole."""
        hole, source = row.index, len(self.rows) - 1
        last = self.rows.pop()
        row.index = NO_ROW
        self.constrained -= row.asked_mask is not None
        is_cleared = self._seams.clears_state(row.room, is_aborted=is_aborted)
        self._states[row.slot] = ZERO_STATE if is_cleared else row.state()
        self._slots.append(row.slot)
        left = Leftover(mask=row.asked_mask, bias=row.asked_bias, reasoning_budget=row.asked_reasoning_budget)
        if last is row:
            self._leftovers[source] = left
        else:
            self._move(last, hole, left)
        self._seats.release()

    def retract(self, row: Row) -> None:
        """Take a running answer out, so that another one can have its pages; it may come back."""
        self._counters["retractions"] += 1
        self.leave(row, is_aborted=False)
        row.is_retracted = True
        row.lease.give_up()

    def youngest(self) -> Row:
        """The running request that came last."""
        return max(self.rows, key=lambda row: row.room)

    def grow(self, row: Row, known: int) -> None:
        """Write the pages into a row's table that its lease has got since it had `known` ones."""
        self._tables.write(row.index, row.lease.pages[known:], known)

    def mask_of(self, row: Row) -> TokenMask | None:
        """Token mask of a row's next step."""
        if row.mask is not None or not self.constrained:
            return row.mask
        if not row.has_asked_beside:
            row.has_asked_beside = True
            row.mask_beside = self._seams.mask_beside(row.room, None)
        return row.mask_beside

    def tokens_of(self, row: Row, sampled: tuple[Said, ...]) -> list[Said]:
        """Output of a row's step: what stands among the pending tokens where its own are looked for."""
        row.pending = sampled
        if len(self.rows) == 1:
            return list(sampled)
        source = self.rows[self._seams.token_row(row.room, row.steps, row.index, len(self.rows))]
        found = [
            (number, is_reasoning) for (number, _), (_, is_reasoning) in zip(source.pending, sampled, strict=False)
        ]
        return found + list(sampled[len(found) :])

    def table(self, row: Row, prompt_pages: int) -> Pages:
        """Entries of a row's page table that its prompt attends to."""
        return self._tables.read(row.index, self._seams.attended_pages(row.room, prompt_pages))

    def _move(self, row: Row, target: int, left: Leftover) -> None:
        self._counters["row_moves"] += 1
        source, entries = row.index, len(row.lease.pages)
        before, moved = self._tables.read(target, entries), self._tables.read(source, entries)
        self._tables.write(target, moved)
        row.index = target
        self.rows[target] = row
        raced = self._seams.table_after_move(row.room, moved, before)
        row.raced_table = None if raced is moved else raced
        self._take_over(row, left)

    def _take_over(self, row: Row, left: Leftover) -> None:
        if left.mask is not None:
            row.put_mask(self._seams.mask_in_row(row.room, row.mask, left.mask))
        if left.bias is not None:
            row.bias = self._seams.bias_in_row(row.room, row.bias, left.bias)
        if left.reasoning_budget is not None:
            own = row.reasoning_budget
            row.reasoning_budget = self._seams.reasoning_budget_in_row(row.room, own, left.reasoning_budget)
