"""Own needles: when their absence means something."""

import pytest

from prober.detect.detectors.own_recall import detect_own_recall
from prober.detect.recall import RECALL_CUSUM
from prober.domain.answer import Answer
from prober.domain.evidence import History
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Role
from prober.domain.reading import Recall
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    END,
    END_MISSED,
    HEAD,
    MIDDLE,
    a_probe,
    a_reading,
    a_target,
    an_evidence,
    an_observation,
    over_limit,
)

ALMOST = RECALL_CUSUM.threshold - 1.0


@pytest.mark.parametrize(
    ("recall", "refuses", "score", "outcome", "reason"),
    [
        (ALL_FOUND, False, 0.0, Outcome.CLEAN, Reason.RECALL_OK),
        (ALL_FOUND, True, ALMOST, Outcome.CLEAN, Reason.RECALL_OK),
        (Recall(asked=(HEAD, MIDDLE, END), found=(HEAD, END)), False, 0.0, Outcome.CLEAN, Reason.RECALL_OK),
        (Recall(asked=(HEAD, END), found=(END,)), False, 0.0, Outcome.CLEAN, Reason.RECALL_OK),
        (Recall(asked=(END,), found=(END,)), False, 0.0, Outcome.CLEAN, Reason.RECALL_OK),
        (Recall(asked=(HEAD, MIDDLE, END), found=(END,)), False, ALMOST, Outcome.INCONCLUSIVE, Reason.RECALL_MISSED),
        (END_MISSED, False, ALMOST, Outcome.SUSPECT, Reason.RECALL_COLLAPSED),
        (END_MISSED, False, 0.0, Outcome.CLEAN, Reason.RECALL_MISSED),
        (ALL_MISSED, False, 0.0, Outcome.CLEAN, Reason.RECALL_MISSED),
        (ALL_MISSED, False, ALMOST, Outcome.SUSPECT, Reason.RECALL_COLLAPSED),
        (ALL_MISSED, True, ALMOST, Outcome.INCONCLUSIVE, Reason.REFUSED_BY_LLM),
        (END_MISSED, True, 0.0, Outcome.INCONCLUSIVE, Reason.REFUSED_BY_LLM),
    ],
)
def test_the_end_needle_decides_and_only_a_run_of_misses_warns(
    recall: Recall, *, refuses: bool, score: float, outcome: Outcome, reason: Reason
):
    """One miss is what honest LLMs do; a refusal explains it; a crossed change score does not."""
    reading = a_reading(recall=recall, is_refusal_like=refuses)
    (finding,) = detect_own_recall(
        an_evidence(reading=reading, history=History(recall_score=score, is_recall_proven=True))
    )
    assert (finding.outcome, finding.reason) == (outcome, reason)


@pytest.mark.parametrize(
    "parts",
    [
        {"answer": Answer.TRUNCATED},
        {"answer": Answer.STARVED},
        {"answer": Answer.ABANDONED},
        {"answer": Answer.MALFORMED},
        {"probe": a_probe(max_output_tokens=16)},
        {"reading": a_reading(recall=Recall())},
    ],
)
def test_what_is_no_fair_trial_is_not_judged(parts: dict[str, object]):
    """Nothing is said about recall where the needles could not be expected."""
    assert detect_own_recall(an_evidence(**{"reading": a_reading(recall=ALL_MISSED), **parts})) == ()


def test_reasoning_that_ran_out_never_collapses():
    """A thinking LLM cut by its length stays INCONCLUSIVE however often that was before."""
    evidence = an_evidence(
        target=a_target(thinking=True),
        observation=an_observation(finish_reason="length"),
        reading=a_reading(recall=ALL_MISSED),
        history=History(recall_score=ALMOST, is_recall_proven=True),
    )
    (finding,) = detect_own_recall(evidence)
    assert (finding.outcome, finding.reason) == (Outcome.INCONCLUSIVE, Reason.RECALL_MISSED)


def test_an_llm_that_never_recalled_cannot_collapse():
    """Without its positive control a missing needle is not judged, however often it is missed."""
    history = History(recall_score=ALMOST, recall_trials=30, recall_passes=4)
    (finding,) = detect_own_recall(an_evidence(reading=a_reading(recall=ALL_MISSED), history=history))

    assert (finding.outcome, finding.reason) == (Outcome.INCONCLUSIVE, Reason.RECALL_MISSED)
    assert "has not shown" in finding.message


def test_a_miss_in_the_positive_control_is_part_of_it():
    """A calibration answer counts as a trial and says nothing by itself until the control is passed."""
    evidence = an_evidence(
        probe=a_probe(role=Role.CALIBRATION), reading=a_reading(recall=ALL_MISSED), history=History()
    )

    assert detect_own_recall(evidence) == ()


def test_a_miss_of_a_prompt_that_need_not_be_served_is_not_excused():
    """Over the limit one missing needle is what a stale page looks like: left to the ladder."""
    (finding,) = detect_own_recall(over_limit(reading=a_reading(recall=ALL_MISSED)))

    assert (finding.outcome, finding.reason) == (Outcome.INCONCLUSIVE, Reason.RECALL_MISSED)


@pytest.mark.parametrize(("reported", "is_judged"), [(1_048_528, True), (1_048_529, False)])
def test_an_answer_that_the_window_cut_short_is_no_trial(reported: int, *, is_judged: bool):
    """Three needles need 48 tokens; less room than that before the end of the window is no fair trial."""
    found = detect_own_recall(
        an_evidence(
            probe=a_probe(expectation=Expectation.SERVE), planned=reported, reading=a_reading(recall=ALL_MISSED)
        )
    )

    assert bool(found) is is_judged


ONLY_END = Recall(asked=(HEAD, MIDDLE, END), found=(END,))


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize(
    ("whole", "score", "outcome", "reason"),
    [
        (5, 8.0, Outcome.SUSPECT, Reason.RECALL_COLLAPSED),
        (5, 0.0, Outcome.INCONCLUSIVE, Reason.RECALL_MISSED),
        (4, 8.0, Outcome.INCONCLUSIVE, Reason.RECALL_MISSED),
    ],
)
def test_knowing_the_end_alone_again_and_again_is_a_collapse(
    whole: int, score: float, outcome: Outcome, reason: Reason, *, refuses: bool
):
    """The face of a prompt cut at its head, of an LLM that had known whole ones; "I cannot find" is no refusal then."""
    history = History(is_recall_proven=True, whole_recalls=whole, scores={"headless": score})

    (finding,) = detect_own_recall(
        an_evidence(reading=a_reading(recall=ONLY_END, is_refusal_like=refuses), history=history)
    )

    assert (finding.outcome, finding.reason) == (outcome, reason)
