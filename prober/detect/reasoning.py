"""Where reasoning stops: at the LLM's own end, or where another request's budget would end it."""

from typing import Final

from prober.detect.recall import is_free
from prober.domain.evidence import Evidence
from prober.domain.mark import AnswerMark
from prober.domain.probe import Probe

NEIGHBOURS: Final = 32
"""Latest answers among which one with a budget may have shared a batch."""

LEAST_REFERENCES: Final = 6
"""Undisturbed answers of this run whose reasoning was counted."""

FAR_LONGER: Final = 2
"""The shortest undisturbed reasoning is at least so many times as long as a budget that could be told from it."""

MARKS_OF_THE_END: Final = 4
"""Tokens by which servers count more or fewer than the budget: marks of the reasoning's beginning and end."""


def is_cut_on_purpose(probe: Probe) -> bool:
    """The whole output is less than the reasoning that was allowed for: no answer was to come."""
    budget = probe.options.reasoning_budget
    return budget is not None and probe.max_output_tokens < budget


def stops_of_neighbours(evidence: Evidence) -> frozenset[int]:
    """Reasoning tokens that usage reports where budgets of the latest neighbours end a reasoning.

    All of them: the row of a request that left keeps its budget until another one moves in, also across waves. Empty:
    no neighbour had a budget, none was seen to keep to it, or undisturbed answers of the run reason no longer.
    """
    latest = zip(reversed(evidence.history.marks), range(NEIGHBOURS), strict=False)
    budgets = {mark.options.reasoning_budget for mark, _ in latest} - {None}
    if not budgets:
        return frozenset()
    alone = [
        (mark.options.reasoning_budget, mark.reasoning_tokens)
        for mark in reversed(evidence.history.references)
        if mark.reasoning_tokens is not None and _is_of_like(mark, evidence)
    ]
    free = [count for bound, count in alone if bound is None]
    if len(free) < LEAST_REFERENCES:
        return frozenset()
    return frozenset(
        count
        for bound, count in alone
        if bound is not None
        and bound in budgets
        and abs(count - bound) <= MARKS_OF_THE_END
        and min(free) >= FAR_LONGER * count
    )


def is_cut_short(evidence: Evidence) -> bool | None:
    """Whether a free answer's reasoning stops at exactly a neighbour's budget; None: that cannot be told.

    It cannot where usage gives no reasoning tokens: the text of the reasoning has another length at each count.
    """
    count = evidence.observation.usage.reasoning_tokens
    if count is None or not evidence.answer.is_served or not is_free(evidence.probe):
        return None
    stops = stops_of_neighbours(evidence)
    return count in stops if stops else None


def _is_of_like(mark: AnswerMark, evidence: Evidence) -> bool:
    """An answer to the same kind of questions: another scenario's may be longer."""
    return mark.scenario == evidence.probe.scenario and mark.answer.is_served
