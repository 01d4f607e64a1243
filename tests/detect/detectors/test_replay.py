"""The same text, answered again."""

import pytest

from prober.detect.detectors.replay import detect_replay
from prober.domain.answer import Answer
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.reading import Garble
from tests.support.evidence import ALL_MISSED, NOTHING_READ, a_history, a_mark, a_prompt, a_reading, an_evidence

CLEAN, INCONCLUSIVE, SUSPECT = Outcome.CLEAN, Outcome.INCONCLUSIVE, Outcome.SUSPECT
ALIKE, OTHER = a_mark().signature, tuple(range(100, 164))
EQUAL, DIVERGED = Reason.REPLAY_EQUAL, Reason.REPLAY_DIVERGED
PLAIN = {"recall": ALL_MISSED, "signature": OTHER, "words": 9}


def again(reference: dict[str, object] | None = None, scores: dict[str, float] | None = None, **reading: object):
    """Judge an answer to text t1 beside its reference."""
    evidence = an_evidence(
        prompt=a_prompt(text_sha256="t1"),
        reading=a_reading(**reading),
        history=a_history(a_mark(**(reference or {})), scores=scores or {}),
    )
    return detect_replay(evidence)


@pytest.mark.parametrize(
    ("reading", "outcome", "reason"),
    [
        ({"signature": ALIKE}, CLEAN, EQUAL),
        ({"sha256": "f" * 64}, CLEAN, EQUAL),
        ({"signature": ()}, CLEAN, EQUAL),
        (PLAIN, INCONCLUSIVE, DIVERGED),
        ({**PLAIN, "is_refusal_like": True, "words": 60}, INCONCLUSIVE, DIVERGED),
        ({**PLAIN, "words": 25}, SUSPECT, DIVERGED),
        ({**PLAIN, "stray_words": 1}, SUSPECT, DIVERGED),
        ({**PLAIN, "words": 80, "garble": Garble(longest_loop=400)}, INCONCLUSIVE, DIVERGED),
        ({"signature": ALIKE, "garble": Garble(scripts=3)}, SUSPECT, DIVERGED),
    ],
)
def test_only_what_lost_its_needle_and_says_something_else_is_suspect(
    reading: dict[str, object], outcome: Outcome, reason: Reason
):
    """A plain miss is what honest LLMs do; an answer of other content, or a garbled one, is not."""
    (finding,) = again(**reading)

    assert (finding.outcome, finding.reason) == (outcome, reason)
    assert "baseline/0000" in finding.message


def test_other_wording_with_the_needle_is_silent():
    """Greedy output differs with the batch on endpoints that are not batch-invariant: neither equal nor lost."""
    assert again(signature=OTHER) == ()


def test_a_copy_error_is_no_divergence():
    """Eleven of twenty-four shingles stay where one word of six is miscopied."""
    near = (*ALIKE[:29], *OTHER[29:])

    (finding,) = again(recall=ALL_MISSED, signature=near)

    assert (finding.outcome, finding.reason) == (CLEAN, EQUAL)


def test_plain_misses_that_become_common_are_suspect():
    """Four in a row of an LLM that forgets or refuses 3 %."""
    (finding,) = again(scores={"replays": 7.0}, **PLAIN)

    assert finding.outcome is SUSPECT


@pytest.mark.parametrize(
    "reference",
    [{"is_recall_missed": True}, {"is_recall_missed": None}, {"text_sha256": "t2"}, {"text_sha256": ""}],
)
def test_a_reference_that_never_knew_says_nothing(reference: dict[str, object]):
    """Nor does the answer to another text."""
    assert again(reference, **PLAIN) == ()


def test_a_reference_that_was_garbled_excuses_garble():
    """The text itself may invite it."""
    (finding,) = again({"is_garbled": True}, signature=ALIKE, garble=Garble(scripts=3))

    assert finding.outcome is CLEAN


@pytest.mark.parametrize(("scores", "outcome"), [({}, INCONCLUSIVE), ({"replays": 7.0}, SUSPECT)])
def test_an_empty_answer_to_what_was_known_is_a_plain_miss(scores: dict[str, float], outcome: Outcome):
    """An end at once happens; what brings back nothing again and again was answered before."""
    evidence = an_evidence(
        answer=Answer.EMPTY,
        prompt=a_prompt(text_sha256="t1"),
        reading=NOTHING_READ,
        history=a_history(a_mark(), scores=scores),
    )

    assert [(f.reason, f.outcome) for f in detect_replay(evidence)] == [(DIVERGED, outcome)]


@pytest.mark.parametrize("answer", [Answer.ABANDONED, Answer.STARVED, Answer.SERVER_ERROR, Answer.TRUNCATED])
def test_what_is_no_whole_answer_is_not_compared(answer: Answer):
    """Other detectors speak of it."""
    evidence = an_evidence(
        answer=answer,
        prompt=a_prompt(text_sha256="t1"),
        reading=a_reading(**PLAIN),
        history=a_history(a_mark()),
    )

    assert detect_replay(evidence) == ()
