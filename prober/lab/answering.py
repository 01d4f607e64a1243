"""Decode steps: a few tokens at a time, each from what the pages hold at that moment."""

import asyncio
import collections
import functools
import random
from collections.abc import AsyncIterator

import numpy as np

from prober.lab.allocator import Pages
from prober.lab.batch.noise import Noise
from prober.lab.batch.recurrent import STATE_IDS, ZERO_STATE, carried_share
from prober.lab.batch.rows import NO_ROW, Batch, Row, Said
from prober.lab.batch.speech import Speech, starting_with
from prober.lab.batch.step_clock import StepClock
from prober.lab.batch.transcript import TokenTexts, Transcript
from prober.lab.events import Chunk, Done, Event
from prober.lab.forward import ForwardPass
from prober.lab.handoff import Job
from prober.lab.llm import SEED_STRIDE, Plan, SimulatedLlm
from prober.lab.pool import KvPool, Lease
from prober.lab.seams import Seams
from prober.lab.settings import LabSettings, Topology
from prober.lab.timing import Pace

_THREAD_TOKENS = 20_000
"""From here on the LLM thinks in a thread, so that the event loop stays responsive."""
_EMPTY_SHARE = 0.25
"""Of answers decided by numbers that are none: they end at once. The others are garbage."""


class Answering:
    """The decode loop of one pool: every answer steps by itself, in a row of one batch."""

    def __init__(
        self,
        *,
        settings: LabSettings,
        seams: Seams,
        pool: KvPool,
        forward: ForwardPass,
        llm: SimulatedLlm,
        pace: Pace,
        counters: collections.Counter[str],
    ) -> None:
        self.pool = pool
        self.forward = forward
        self.pace = pace
        self.batch = Batch(settings.max_running, seams, llm.tokenizer, counters)
        self._settings = settings
        self._seams = seams
        self._llm = llm
        self._texts = TokenTexts(llm.tokenizer)
        self._counters = counters

    def room_needed(self, tokens: int, job: Job) -> int:
        """Tokens to reserve before a prompt of so many tokens is admitted."""
        answer = self._settings.page_tokens if self._settings.overcommit else job.max_new_tokens
        return tokens + min(answer, job.max_new_tokens)

    async def run(self, job: Job, lease: Lease, tokens: int, first_id: int | None) -> AsyncIterator[Event]:
        """Stream the answer to a sequence of so many prompt tokens; `first_id` was decided by the prefill already."""
        row = self.batch.row_for(job, lease, tokens, first_id)
        await self.batch.join(row)
        is_aborted = True
        try:
            speech = await self._begin(row)
            async for chunk in self._decode(row, speech):
                yield chunk
            is_stop = speech.is_over(self.batch.mask_of(row))
            is_aborted = False
        finally:
            if row.index != NO_ROW:
                self.batch.leave(row, is_aborted=is_aborted)
        yield Done(
            finish_reason="stop" if is_stop else "length",
            prompt_tokens=tokens,
            completion_tokens=len(row.said),
            reasoning_tokens=row.reasoned,
        )

    async def _begin(self, row: Row) -> Speech:
        """Read the prompt and decide on an answer."""
        row.has_company = len(self.batch.rows) > 1
        row.is_lost = row.has_company and not self._seams.fills_placeholders(row.room)
        draw = random.Random(f"begin {self._seed(row)}")  # noqa: S311 - simulation, no secret
        row.follows_state = draw.random() < carried_share(row.tokens) and row.carried.size > 0
        level = self._seams.noise(row.room, self.batch.served)
        is_nan = self._seams.reads_nan(row.room, self.batch.served)
        row.seen = self._latest_write(row)
        plan = await self._plan(row)
        if is_nan and draw.random() < _EMPTY_SHARE:
            plan = Plan(reasoning=plan.reasoning[:0], content=plan.content[:0])
        noise = Noise(1.0 if is_nan else level, self._seed(row), self._llm.tokenizer, has_loops=not is_nan)
        return Speech(row, plan, noise if is_nan or level else None)

    async def _decode(self, row: Row, speech: Speech) -> AsyncIterator[Chunk]:
        transcript = Transcript(self._texts, self._seed(row), wants_logprobs=row.job.request.wants_logprobs)
        clock = StepClock(self.pace, lambda: len(self.batch.rows), self._prefilled)
        while not self._is_over(row, speech):
            if row.is_retracted:
                await self._resume(row, speech)
                clock.restart()
            raced = None if row.raced_table is None else await self._raced_plan(row, row.raced_table)
            if row.is_retracted:
                continue
            begun = len(row.said)
            while True:
                for chunk in self._step(row, speech, transcript, raced):
                    yield chunk
                clock.advance()
                is_over = self._is_over(row, speech)
                if is_over or row.raced_table is not None or not clock.is_due():
                    break
            self._write(row, begun, is_last=is_over)
            if not is_over:
                await clock.wait()
                await self._look_again(row, speech)

    def _is_over(self, row: Row, speech: Speech) -> bool:
        return row.budget <= 0 or speech.is_over(self.batch.mask_of(row))

    def _step(self, row: Row, speech: Speech, transcript: Transcript, raced: Plan | None) -> list[Chunk]:
        """One forward step: sample, and take what is pending for this row."""
        row.steps += 1
        sampled = row.pending
        if not sampled or len(self.batch.rows) == 1 or self._seams.applies_token(row.room, row.steps):
            sampled = self._sample(row, speech, raced)
        said = self.batch.tokens_of(row, sampled)[: row.budget]
        row.said += [number for number, _ in said]
        row.reasoned += sum(is_reasoning for _, is_reasoning in said)
        return [] if row.is_lost else transcript.chunks(said, sampled[: len(said)])

    def _sample(self, row: Row, speech: Speech, raced: Plan | None) -> tuple[Said, ...]:
        mask = self.batch.mask_of(row)
        sampled: list[Said] = []
        for _ in range(min(row.budget, self._accepted(row))):
            token = None if speech.is_over(mask) else speech.sample(mask, raced)
            if token is None:
                break
            sampled.append(token)
        return tuple(sampled)

    def _accepted(self, row: Row) -> int:
        """Tokens of one step: the target's own, and as many drafted ones as it accepts."""
        mean = self._settings.accept_length
        if mean <= 1:
            return 1
        least = int(mean)
        draw = random.Random(self._seed(row) * 65_537 + row.steps)  # noqa: S311 - simulation, no secret
        # Uniform from 1 to 2 * least - 1, plus one in the share of steps that the fraction asks for.
        return draw.randint(1, 2 * least - 1) + (draw.random() < mean - least)

    async def _plan(self, row: Row) -> Plan:
        if row.follows_state:
            return starting_with(self._llm.carry_on(row.carried), row.first_id)
        pages = self.pool.pages_for(row.tokens)
        return starting_with(await self._planned_from(row, self.batch.table(row, pages), pages), row.first_id)

    async def _raced_plan(self, row: Row, table: Pages) -> Plan:
        """What the LLM would say in the one step that reads another page table."""
        row.raced_table = None
        pages = self.pool.pages_for(row.tokens)
        return await self._planned_from(row, table[:pages], pages)

    async def _planned_from(self, row: Row, table: Pages, pages: int) -> Plan:
        """Decide an answer from what the pages hold that a table names."""
        view = self.pool.read_pages(table).reshape(-1)
        view, beyond = view[: row.tokens], view[row.tokens :] if len(table) > pages else ZERO_STATE
        row.latest = view[-STATE_IDS:].copy()
        plan = functools.partial(
            self._llm.plan,
            view,
            row.job.request.temperature,
            row.room,
            has_company=row.has_company,
            beyond=beyond,
        )
        return plan() if len(view) < _THREAD_TOKENS else await asyncio.to_thread(plan)

    def _write(self, row: Row, first: int, *, is_last: bool) -> None:
        """Write what was said, from a token on, into the row's pages.

        When the pool is short of room the youngest answer is retracted, which may be this one.
        """
        position = row.tokens + first
        while self._settings.overcommit and not row.lease.reaches(row.tokens + len(row.said)):
            youngest = self.batch.youngest()
            if youngest is row and is_last:
                return
            self.batch.retract(youngest)
            if youngest is row:
                return
        known, is_unchanged = len(row.lease.pages), self._latest_write(row) == row.seen
        row.lease.write(position, np.array(row.said[first:], dtype=np.int32), row.room)
        self.batch.grow(row, known)
        if is_unchanged:
            row.seen = self._latest_write(row)

    async def _resume(self, row: Row, speech: Speech) -> None:
        """Come back after a retraction: wait for room, this time for all of it, prefill anew and go on."""
        row.is_retracted = False
        await row.lease.renew(row.tokens + row.job.max_new_tokens)
        said = np.array(row.said, dtype=np.int32)
        await self.forward.run(np.concatenate([row.job.ids[: row.tokens], said]), row.lease, row.room)
        await self.batch.join(row)
        row.seen = self._latest_write(row)
        speech.follow(await self._plan(row))

    async def _look_again(self, row: Row, speech: Speech) -> None:
        """Decide anew when somebody wrote into the pages under our feet: attention reads what stands there now."""
        while not row.is_retracted and (seen := self._latest_write(row)) != row.seen:
            self._counters["pages_changed_while_answering"] += 1
            row.seen = seen
            speech.follow(await self._plan(row))

    def _latest_write(self, row: Row) -> int:
        return self.pool.latest_write(row.lease.pages[: self.pool.pages_for(row.tokens)])

    def _seed(self, row: Row) -> int:
        return row.room + self._settings.seed * SEED_STRIDE

    def _prefilled(self) -> int:
        """Prompt tokens in a forward pass beside the batch: on a machine of its own there are none."""
        return self.forward.in_flight if self._settings.topology is Topology.AGGREGATED else 0
