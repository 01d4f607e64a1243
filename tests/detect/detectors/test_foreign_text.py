"""Text without a canary that no own prompt explains."""

import pytest

from prober.detect.detectors.foreign_text import detect_foreign_text
from prober.domain.answer import Answer
from prober.domain.evidence import History
from prober.domain.finding import Reason
from prober.domain.observation import Observation
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.target import Target
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    END_MISSED,
    PROVEN,
    a_probe,
    a_reading,
    a_target,
    an_evidence,
    an_observation,
)

NOVEL = {"words": 60, "novel_words": 50, "longest_novel_run": 12, "recall": END_MISSED}


def judge(
    answer: Answer = Answer.SERVED_FULL,
    target: Target | None = None,
    observation: Observation = None,
    *,
    history: History = PROVEN,
    **reading: object,
):
    """Judge a reading that is novel but for the changes."""
    return detect_foreign_text(
        an_evidence(
            answer=answer,
            target=target or a_target(),
            observation=observation or an_observation(),
            reading=a_reading(**{**NOVEL, **reading}),
            history=history,
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
    ("trials", "passes", "outcome"),
    [
        (8, 8, Outcome.SUSPECT),
        (7, 7, Outcome.INCONCLUSIVE),
        (9, 8, Outcome.INCONCLUSIVE),
        (20, 19, Outcome.SUSPECT),
        (19, 18, Outcome.INCONCLUSIVE),
    ],
)
def test_novel_words_are_no_news_of_an_llm_that_often_misses(trials: int, passes: int, outcome: Outcome):
    """Of one that misses more than one needle in twenty, or was hardly tried, they cannot be judged."""
    (finding,) = judge(history=History(is_recall_proven=True, recall_trials=trials, recall_passes=passes))
    assert (finding.outcome, finding.reason) == (outcome, Reason.FOREIGN_TEXT)


@pytest.mark.parametrize(
    "case",
    [
        {"recall": ALL_FOUND},
        {"history": History(recall_trials=20, recall_passes=9)},
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


def test_constrained_answers_are_no_foreign_text():
    """A favoured token, made-up or anybody's, repeats itself as we asked."""
    free, biased = (
        an_evidence(probe=a_probe(options=options), reading=a_reading(recall=ALL_MISSED, words=60, novel_words=60))
        for options in (RequestOptions(), RequestOptions(favoured_token=7))
    )

    assert len(detect_foreign_text(free)) == 1
    assert detect_foreign_text(biased) == ()
