"""Corrupted answers."""

import pytest

from prober.detect.detectors.garble import detect_garble
from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.reading import Garble
from tests.support.evidence import ALL_MISSED, a_history, a_reading, an_evidence

LOOPING = a_reading(recall=ALL_MISSED, garble=Garble(longest_loop=300))
SALAD = a_reading(garble=Garble(scripts=3, replacements=2))


@pytest.mark.parametrize(
    ("reading", "scores", "outcome"),
    [
        (SALAD, {}, Outcome.SUSPECT),
        (a_reading(garble=Garble(replacements=1)), {}, Outcome.SUSPECT),
        (LOOPING, {}, Outcome.INCONCLUSIVE),
        (LOOPING, {"loops": 5.0}, Outcome.SUSPECT),
        (a_reading(garble=Garble(longest_loop=300)), {"loops": 50.0}, None),
        (a_reading(garble=Garble(scripts=2)), {}, None),
    ],
)
def test_salad_warns_at_once_and_loops_when_they_come_again(
    reading: object, scores: dict[str, float], outcome: Outcome | None
):
    """Weak LLMs loop now and then, and behind a right answer it is honest; no honest answer mixes scripts."""
    found = detect_garble(an_evidence(reading=reading, history=a_history(scores=scores)))

    assert [finding.outcome for finding in found] == ([outcome] if outcome else [])
    assert all(finding.reason is Reason.GARBLED for finding in found)


@pytest.mark.parametrize(
    ("reading", "scores", "outcome"),
    [
        (SALAD, {}, Outcome.INCONCLUSIVE),
        (SALAD, {"salads": 4.0}, Outcome.SUSPECT),
        (LOOPING, {"loops": 50.0}, None),
    ],
)
def test_before_recall_is_proven_salad_must_come_twice_and_loops_are_honest(
    reading: object, scores: dict[str, float], outcome: Outcome | None
):
    """What is wrong since the start keeps the proof from being given; a weak LLM loops, and mixes no scripts."""
    history = a_history(is_recall_proven=False, scores=scores)
    found = detect_garble(an_evidence(reading=reading, history=history))

    assert [finding.outcome for finding in found] == ([outcome] if outcome else [])


@pytest.mark.parametrize("answer", [Answer.ABANDONED, Answer.SERVER_ERROR, Answer.MALFORMED])
def test_what_was_not_served_is_not_judged(answer: Answer):
    """Half an answer ends anywhere."""
    for reading in (SALAD, LOOPING):
        assert detect_garble(an_evidence(answer=answer, reading=reading, history=a_history())) == ()
