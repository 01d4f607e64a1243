"""Sessions and replicas beside each other."""

import pytest

from prober.detect.detectors.cohorts import detect_cohorts
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Reason
from prober.domain.mark import AnswerMark
from prober.domain.observation import Usage
from prober.domain.options import Arm, Trial
from prober.domain.outcome import Outcome
from tests.support.evidence import (
    ALL_MISSED,
    a_history,
    a_mark,
    a_probe,
    a_prompt,
    a_reading,
    an_evidence,
    an_observation,
)


def of(cohort: str, **changes: object) -> AnswerMark:
    return a_mark(trial=Trial(series="cohorts", number=1, arm=Arm.CHECK, cohort=cohort), **changes)


def answered(*marks: AnswerMark, cohort: str = "odd", **parts: object) -> Evidence:
    """One more answer of a cohort, after these; like theirs where nothing else is told."""
    given = {
        "probe": a_probe(trial=Trial(series="cohorts", number=1, arm=Arm.CHECK, cohort=cohort)),
        "prompt": a_prompt(text_sha256="t1"),
        "observation": an_observation(
            system_fingerprint="fp-1", model_reported="m", usage=Usage(prompt_tokens=300_000)
        ),
        "history": a_history(*marks),
    }
    return an_evidence(**{**given, **parts})


def observed(**changes: object) -> dict[str, object]:
    changes = {"system_fingerprint": "fp-1", "model_reported": "m", "usage": Usage(prompt_tokens=300_000), **changes}
    return {"observation": an_observation(**changes)}


OTHERS = [of(cohort) for cohort in ("b", "c") for _ in range(3)]
DIFFERENCES = [
    ("the build's fingerprint", {"system_fingerprint": "fp-2"}, observed(system_fingerprint="fp-2")),
    ("the LLM's name", {"model_reported": "n"}, observed(model_reported="n")),
    ("the prompt tokens of text t1", {"prompt_tokens": 299_000}, observed(usage=Usage(prompt_tokens=299_000))),
    ("whether text t1 is served", {"answer": Answer.REJECTED_OK}, {"answer": Answer.REJECTED_IN_STREAM}),
    ("whether text t1 is served", {"answer": Answer.TRUNCATED}, {"answer": Answer.TRUNCATED}),
]


@pytest.mark.parametrize(("what", "mark", "parts"), DIFFERENCES)
def test_a_cohort_that_always_differs_is_suspect(what: str, mark: dict[str, object], parts: dict[str, object]):
    """Three answers of it and of others, all steady, on either side."""
    (finding,) = detect_cohorts(answered(*OTHERS, of("odd", **mark), of("odd", **mark), **parts))

    assert (finding.reason, finding.outcome) == (Reason.COHORT_DIFFERS, Outcome.SUSPECT)
    assert finding.message == f"Answers of cohort odd persistently differ from others in {what}."


@pytest.mark.parametrize(("what", "mark", "parts"), DIFFERENCES)
def test_two_answers_are_no_habit(what: str, mark: dict[str, object], parts: dict[str, object]):
    """Nor are two answers of the others, nor what differs once only."""
    del what
    assert detect_cohorts(answered(*OTHERS, of("odd", **mark), **parts)) == ()
    assert detect_cohorts(answered(of("b"), of("b"), *[of("odd", **mark)] * 2, **parts)) == ()
    assert detect_cohorts(answered(*OTHERS, *[of("odd")] * 5, of("odd", **mark), **parts)) == ()


def test_a_rolling_build_varies_within_each_cohort():
    """Fingerprints that change from answer to answer belong to a rollout, or to many replicas behind one key."""
    marks = [of(cohort, system_fingerprint=f"fp-{number}") for cohort in ("b", "odd") for number in (1, 2, 3)]

    assert detect_cohorts(answered(*marks, **observed(system_fingerprint="fp-1"))) == ()


def test_replicas_may_each_bear_a_name_of_their_own():
    """A label that no two cohorts share tells nothing; a count of tokens that differs does."""
    named = [of(cohort, system_fingerprint=cohort) for cohort in ("b", "c") for _ in range(3)]
    counted = [of(cohort, prompt_tokens=7) for cohort in ("b",) for _ in range(3)]

    assert detect_cohorts(answered(*named, *[of("odd")] * 2)) == ()
    assert len(detect_cohorts(answered(*counted, *[of("odd")] * 2))) == 1


def test_the_common_habit_is_not_the_odd_one():
    """Most cohorts are right; the finding stands at the one that is not."""
    odd = [of("odd", model_reported="n")] * 3

    assert detect_cohorts(answered(*OTHERS, *odd, cohort="b")) == ()


def test_prompt_tokens_are_compared_for_one_and_the_same_text():
    """Other texts have other counts."""
    marks = [of("odd", prompt_tokens=10, text_sha256="t2")] * 2

    assert (
        detect_cohorts(
            answered(*OTHERS, *marks, prompt=a_prompt(text_sha256="t2"), **observed(usage=Usage(prompt_tokens=10)))
        )
        == ()
    )


@pytest.mark.parametrize("unknown", [{"prompt_tokens": None}, {"text_sha256": ""}])
def test_counts_that_are_missing_are_no_habit(unknown: dict[str, object]):
    """Nor are counts of texts that nobody knows."""
    marks = [of("odd", **{"prompt_tokens": 7, **unknown})] * 3

    assert detect_cohorts(answered(*OTHERS, *marks)) == ()


@pytest.mark.parametrize("answer", [Answer.BUSY, Answer.EMPTY, Answer.SERVER_ERROR])
def test_what_says_nothing_about_the_backend_is_left_out(answer: Answer):
    """A busy replica is no other build."""
    assert detect_cohorts(answered(*OTHERS, *[of("odd", answer=answer)] * 4, answer=answer)) == ()


@pytest.mark.parametrize(
    ("own_missed", "own", "is_found"), [(9, 10, True), (2, 2, False), (3, 10, False), (0, 0, False)]
)
def test_a_forgetful_cohort_stands_out_by_an_exact_test(own_missed: int, own: int, *, is_found: bool):
    """Others miss 2 of 60; one cohort misses far more often, this answer included."""
    others = [of(cohort, is_recall_missed=number == 0) for cohort in ("b", "c") for number in range(30)]
    marks = [of("odd", is_recall_missed=number < own_missed) for number in range(own)]

    found = detect_cohorts(answered(*others, *marks, reading=a_reading(recall=ALL_MISSED)))

    assert bool(found) is is_found
    assert all(f"in {own_missed + 1} of {own + 1}" in finding.message for finding in found)


def test_without_a_cohort_nothing_is_compared():
    """Marks of other series and answers that are no trial stay out."""
    stray = [a_mark(), a_mark(trial=Trial(series="cohorts", number=1, arm=Arm.CHECK))]

    assert detect_cohorts(answered(*OTHERS, cohort="")) == ()
    assert detect_cohorts(an_evidence(history=a_history(*OTHERS))) == ()
    assert detect_cohorts(answered(*stray, *OTHERS, reading=a_reading(recall=ALL_MISSED))) == ()
