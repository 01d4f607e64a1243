"""What a row says: its LLM's plan, token by token, under whatever mask, bias and noise apply to the row."""

import dataclasses

import numpy as np

from prober.lab.batch.noise import Noise
from prober.lab.batch.rows import Row, Said
from prober.lab.llm import Plan
from prober.lab.sampling import TokenMask, after_a_word
from prober.lab.tokenizer import NEWLINE, PADDING

_DEGENERATE_AFTER = 3
"""Tokens of nothing in a row, after which an LLM sees nothing else to go on with."""


class Speech:
    """One answer. Reasoning comes first; constrained and biased decoding leave it out."""

    def __init__(self, row: Row, plan: Plan, noise: Noise | None) -> None:
        self._row = row
        self._noise = noise
        self._position = 0
        self._has_ended = False
        self._nothings = 0
        self._planned = plan.ids.tolist()
        self._reasoning = len(plan.reasoning)

    def follow(self, plan: Plan) -> None:
        """Go on by another plan: from the same place if it has led there too, else from its beginning."""
        planned = plan.ids.tolist()
        if planned[: self._position] != self._planned[: self._position]:
            self._position = 0
        self._planned, self._reasoning = planned, len(plan.reasoning)

    def is_over(self, mask: TokenMask | None) -> bool:
        """Whether the LLM has nothing more to say under this mask."""
        if self._has_ended or self._is_degenerate:
            return self._has_ended
        if mask is not None:
            following, may_end = mask.allowed(self._row.walked)
            return may_end and not following
        return self._row.bias is None and self._position >= len(self._planned)

    def sample(self, mask: TokenMask | None, plan: Plan | None = None) -> Said | None:
        """Sample the next token: its id and whether it is reasoning; None: the answer ends. `plan` decides this one."""
        is_reasoning = False
        if self._is_degenerate:
            number: int | None = PADDING
        elif mask is not None:
            number = self._constrained(mask)
        elif self._row.bias is not None:
            number = self._row.bias
        else:
            self._keep_to_budget()
            is_reasoning = self._position < self._reasoning
            number = self._next(self._planned if plan is None else plan.ids.tolist())
        if number is None:
            self._has_ended = True
            return None
        return self._noise.corrupt(number) if self._noise else number, is_reasoning

    @property
    def _is_degenerate(self) -> bool:
        return self._nothings >= _DEGENERATE_AFTER

    def _keep_to_budget(self) -> None:
        """Begin the answer where the row's reasoning budget is spent, whatever was left to be thought."""
        budget = self._row.reasoning_budget
        if budget is not None and self._position < self._reasoning and self._thought >= budget:
            self._position = self._reasoning

    @property
    def _thought(self) -> int:
        """Tokens of reasoning so far: those of a step that is being sampled are not the row's yet."""
        return max(self._position, self._row.reasoned)

    def _constrained(self, mask: TokenMask) -> int | None:
        row = self._row
        number = mask.sample(row.walked, self._planned[self._reasoning :], row.bias)
        self._nothings = self._nothings + 1 if number == PADDING else 0
        if number is None or mask is not row.mask:
            return number
        is_first = not row.walked
        row.walked.append(number)
        return after_a_word(number) if is_first and row.said else number

    def _next(self, planned: list[int]) -> int | None:
        if self._position >= len(self._planned) or not planned:
            return None
        place = self._position % len(planned)
        self._position += 1
        return after_a_word(planned[place]) if place == 0 and self._row.said else planned[place]


def starting_with(plan: Plan, first_id: int | None) -> Plan:
    """What was said first stays said: the plan opens with it, or follows it.

    Reasoning opens alike whatever is in view, so only content can differ.
    """
    if first_id is None or not plan.content.size or plan.ids[0] == first_id:
        return plan
    following = plan.content.copy()
    if following[0] > NEWLINE:
        following[0] |= 1  # a word that now has one before it
    return dataclasses.replace(plan, content=np.concatenate([np.array([first_id], dtype=np.int32), following]))
