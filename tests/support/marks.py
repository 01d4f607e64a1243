"""Marks of answers, as an earlier run would have left them."""

from collections.abc import Sequence

from prober.detect.marking import mark_of
from prober.domain.evidence import Judgement
from prober.domain.mark import AnswerMark


def marks_of(judgements: Sequence[Judgement]) -> tuple[AnswerMark, ...]:
    """What stays of answers for a later run."""
    return tuple(map(mark_of, judgements))
