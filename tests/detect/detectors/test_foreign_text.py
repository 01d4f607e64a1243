"""Text without a canary that no own prompt explains."""

import pytest

from prober.detect.detectors.foreign_text import detect_foreign_text
from prober.domain.evidence import Answer, History
from prober.domain.finding import Reason
from prober.domain.observation import Observation
from prober.domain.outcome import Outcome
from prober.domain.target import Target
from tests.support.evidence import ALL_FOUND, END_MISSED, a_reading, a_target, an_evidence, an_observation

NOVEL = {"words": 60, "novel_words": 50, "longest_novel_run": 12, "recall": END_MISSED}


def judge(
    answer: Answer = Answer.SERVED_FULL,
    target: Target | None = None,
    observation: Observation = None,
    *,
    is_recall_proven: bool = True,
    **reading: object,
):
    """Judge a reading that is novel but for the changes."""
    return detect_foreign_text(
        an_evidence(
            answer=answer,
            target=target or a_target(),
            observation=observation or an_observation(),
            reading=a_reading(**{**NOVEL, **reading}),
            history=History(is_recall_proven=is_recall_proven),
        )
    )


@pytest.mark.parametrize(
    ("words", "novel", "run", "is_suspect"),
    [
        (50, 30, 5, True),
        (50, 29, 29, False),
        (49, 49, 24, False),
        (49, 40, 25, True),
        (60, 50, 12, True),
    ],
)
def test_mostly_novel_answers_warn(words: int, novel: int, run: int, *, is_suspect: bool):
    """60 % of at least 50 words, or 25 in a row of a shorter answer."""
    found = judge(words=words, novel_words=novel, longest_novel_run=run)
    assert [(f.outcome, f.reason) for f in found] == ([(Outcome.SUSPECT, Reason.FOREIGN_TEXT)] if is_suspect else [])


@pytest.mark.parametrize(
    "case",
    [
        {"recall": ALL_FOUND},
        {"is_recall_proven": False},
        {"is_refusal_like": True},
        {"target": a_target(thinking=True)},
        {"observation": an_observation(reasoning_characters=200)},
        {"answer": Answer.TRUNCATED},
        {"answer": Answer.MALFORMED},
        {"words": 0, "novel_words": 0, "longest_novel_run": 0},
    ],
)
def test_honest_reasons_for_novel_words_are_no_suspicion(case: dict[str, object]):
    """The END needle was known; a refusal; free reasoning; a question cut off."""
    assert judge(**case) == ()
