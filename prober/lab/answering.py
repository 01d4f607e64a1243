"""Decode steps: one token at a time, each from what the pages hold at that moment."""

import collections
import dataclasses
from collections.abc import AsyncIterator

import numpy as np

from prober.lab.events import Chunk, Done, Event
from prober.lab.forward import ForwardPass
from prober.lab.handoff import Job
from prober.lab.llm import Plan
from prober.lab.pool import KvPool, Lease
from prober.lab.timing import DECODE_STEP_SECONDS, Pace
from prober.lab.tokenizer import NEWLINE, Tokenizer


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The decode loop of one pool."""

    pool: KvPool
    forward: ForwardPass
    tokenizer: Tokenizer
    pace: Pace
    counters: collections.Counter[str]

    async def run(self, job: Job, lease: Lease, tokens: int, first_id: int | None) -> AsyncIterator[Event]:
        """Stream the answer to a sequence of so many prompt tokens; `first_id` was decided by the prefill already."""
        prompt_pages = lease.pages[: self.pool.pages_for(tokens)]
        seen = self.pool.latest_write(prompt_pages)
        plan = _starting_with(await self.forward.plan(job, lease, tokens), first_id)
        made = 0
        while made < min(len(plan.ids), job.max_new_tokens):
            number = plan.ids[made]
            is_reasoning = made < len(plan.reasoning)
            text = self.tokenizer.decode([number])
            if made in {0, len(plan.reasoning)}:
                text = text.lstrip(" ")
            yield Chunk(reasoning=text) if is_reasoning else Chunk(content=text)
            await self.pace.sleep(DECODE_STEP_SECONDS)
            while self.pool.latest_write(prompt_pages) != seen:
                # Somebody wrote into the pages under our feet: attention reads what stands there now.
                self.counters["pages_changed_while_answering"] += 1
                seen = self.pool.latest_write(prompt_pages)
                plan = _starting_with(await self.forward.plan(job, lease, tokens), first_id)
            lease.write(tokens + made, np.array([number], dtype=np.int32), job.room)
            seen = self.pool.latest_write(prompt_pages)
            made += 1
        yield Done(
            finish_reason="stop" if made == len(plan.ids) else "length",
            prompt_tokens=tokens,
            completion_tokens=made,
            reasoning_tokens=min(made, len(plan.reasoning)),
        )


def _starting_with(plan: Plan, first_id: int | None) -> Plan:
    """What was said first stays said: the plan opens with it, or follows it.

    Reasoning opens alike whatever is in view, so only content can differ.
    """
    if first_id is None or plan.ids[0] == first_id:
        return plan
    following = plan.content.copy()
    if following[0] > NEWLINE:
        following[0] |= 1  # a word that now has one before it
    return dataclasses.replace(plan, content=np.concatenate([np.array([first_id], dtype=np.int32), following]))
