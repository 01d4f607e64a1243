"""Single tokens: doubled, lost, a neighbour's."""

import pytest

from prober.detect.detectors.tokens import STRAY_RATE, detect_tokens
from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.observation import Usage
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.reading import Garble
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    NOTHING_READ,
    a_history,
    a_probe,
    a_reading,
    a_target,
    an_evidence,
    an_observation,
)

DOUBLING = {"reading": a_reading(words=12, garble=Garble(doubled_words=2))}
EMPTY = {"answer": Answer.EMPTY, "reading": NOTHING_READ}
STRAY = {"recall": ALL_MISSED, "stray_words": 2, "novel_words": 0}


def generated(tokens: int | None, **usage: int) -> dict[str, object]:
    return {"observation": an_observation(usage=Usage(prompt_tokens=300_000, completion_tokens=tokens, **usage))}


@pytest.mark.parametrize(
    ("parts", "scores", "reason"),
    [
        (DOUBLING, {"doubled": 8.0}, Reason.TOKENS_DOUBLED),
        (DOUBLING, {}, None),
        ({"reading": a_reading(words=12)}, {"doubled": 50.0}, None),
        ({"reading": a_reading(words=14, garble=Garble(doubled_words=7))}, {}, Reason.TOKENS_DOUBLED),
        ({**EMPTY, **generated(4)}, {}, Reason.EMPTY_ANSWER),
        ({**EMPTY, **generated(3)}, {}, None),
        ({**EMPTY, **generated(None)}, {}, None),
        ({**EMPTY, **generated(None)}, {"empty": 8.0}, Reason.EMPTY_ANSWER),
        ({**EMPTY, **generated(64, reasoning_tokens=64)}, {"empty": 50.0}, None),
        ({**EMPTY, **generated(64), "target": a_target(thinking=True)}, {}, None),
        ({"answer": Answer.STARVED, **generated(64)}, {}, None),
        ({"reading": a_reading(**STRAY)}, {}, Reason.FOREIGN_FRAGMENTS),
        ({"reading": a_reading(**{**STRAY, "stray_words": 1})}, {}, None),
        ({"reading": a_reading(**{**STRAY, "stray_words": 1})}, {"strays": 8.0}, Reason.FOREIGN_FRAGMENTS),
        ({"reading": a_reading(**{**STRAY, "stray_words": 0})}, {"strays": 50.0}, None),
        ({"reading": a_reading(**{**STRAY, "recall": ALL_FOUND})}, {}, None),
        ({"reading": a_reading(**{**STRAY, "novel_words": 1})}, {}, None),
        ({"reading": a_reading(**{**STRAY, "is_refusal_like": True})}, {}, None),
        ({"reading": a_reading(**STRAY), "answer": Answer.TRUNCATED}, {}, None),
    ],
)
def test_tokens_are_judged_by_what_honest_answers_never_show(
    parts: dict[str, object], scores: dict[str, float], reason: Reason | None
):
    """Doublings beyond copying, generated tokens without text, words of others' phrases in a closed-world answer."""
    found = detect_tokens(an_evidence(**{"history": a_history(scores=scores), **parts}))

    assert [finding.reason for finding in found] == ([reason] if reason else [])
    assert all(finding.outcome is Outcome.SUSPECT for finding in found)


def test_stray_words_carry_their_evidence():
    """Ten bits: one honest answer in 1,000."""
    (finding,) = detect_tokens(an_evidence(history=a_history(), reading=a_reading(**STRAY)))

    assert finding.evidence_bits == pytest.approx(9.97, abs=0.01)
    assert STRAY_RATE == 1e-3


@pytest.mark.parametrize("parts", [{**EMPTY, **generated(9)}, {"reading": a_reading(**STRAY)}])
@pytest.mark.parametrize(
    "changes",
    [
        {"history": a_history(is_recall_proven=False)},
        {"probe": a_probe(options=RequestOptions(choices=("amber lamp",)))},
    ],
)
def test_nothing_is_said_of_llms_that_cannot_do_the_task_or_were_not_free(
    parts: dict[str, object], changes: dict[str, object]
):
    """A favoured token repeats itself, a choice may be anybody's word."""
    assert detect_tokens(an_evidence(**{"history": a_history(), **parts, **changes})) == ()
