"""Counts of trials by series."""

import dataclasses

import pytest

from prober.detect.series import fold_series, tally_after
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.mark import AnswerMark
from prober.domain.observation import Timeline, Usage
from prober.domain.options import Arm, Trial
from prober.domain.probe import PromptSpec, SharedText
from prober.domain.series import SeriesTally
from tests.support.evidence import (
    ALL_MISSED,
    DONOR,
    a_history,
    a_mark,
    a_probe,
    a_prompt,
    a_reading,
    an_evidence,
    an_observation,
)

SHARED = PromptSpec(tokens=1_600, shared=SharedText(source=DONOR, lines=50))
PRIMED = a_mark(trial=Trial(series="s", number=1, arm=Arm.PRIME), first_token_seconds=None)


def of_arm(arm: Arm, *fellows: AnswerMark, cached: int | None = 0, **changes: object) -> Evidence:
    parts = {
        "probe": a_probe(prompt=SHARED, trial=Trial(series="s", number=1, arm=arm)),
        "prompt": a_prompt(planned_tokens=1_600, filler_words=1_600),
        "observation": an_observation(
            usage=Usage(prompt_tokens=1_600, cached_tokens=cached), timeline=Timeline(first_token=1.0)
        ),
        "history": a_history(*fellows),
    }
    return an_evidence(**{**parts, **changes})


def tally(evidence: Evidence) -> dict[str, object]:
    """What is not at its default after one answer; recall apart."""
    found = fold_series(evidence)["s"]
    return {
        field.name: getattr(found, field.name)
        for field in dataclasses.fields(SeriesTally)
        if getattr(found, field.name) != field.default and field.name != "asked"
    }


def timed(arm: Arm, first_token: float) -> AnswerMark:
    return a_mark(trial=Trial(series="s", number=1, arm=arm), first_token_seconds=first_token)


@pytest.mark.parametrize(
    ("evidence", "counts"),
    [
        (of_arm(Arm.MISS), {"miss_cached": 0}),
        (of_arm(Arm.MISS, cached=64), {"miss_cached": 64}),
        (of_arm(Arm.MISS, cached=None), {}),
        (of_arm(Arm.HIT, PRIMED), {"hits": 1}),
        (of_arm(Arm.HIT, PRIMED, cached=800), {"hits": 1, "shared": 1}),
        (of_arm(Arm.HIT, cached=800), {}),
        (of_arm(Arm.CONTROL, cached=800), {"controls": 1, "control_hits": 1}),
        (of_arm(Arm.CONTROL, cached=None), {"controls": 1}),
        (of_arm(Arm.CHECK, PRIMED, cached=800), {"hits": 1, "shared": 1}),
        (of_arm(Arm.PRIME, cached=800), {}),
        (of_arm(Arm.REFERENCE, reading=a_reading(recall=ALL_MISSED)), {"missed": 1}),
        (of_arm(Arm.HIT, timed(Arm.MISS, 9.0)), {"faster": 1}),
        (of_arm(Arm.HIT, timed(Arm.MISS, 0.1)), {"slower": 1}),
        (of_arm(Arm.CONTROL, timed(Arm.MISS, 9.0)), {"controls": 1, "control_faster": 1}),
        (of_arm(Arm.CONTROL, timed(Arm.MISS, 0.1)), {"controls": 1, "control_slower": 1}),
    ],
)
def test_an_answer_is_counted_where_it_belongs(evidence: Evidence, counts: dict[str, object]):
    """By its arm, its cached tokens, its recall and its time."""
    assert tally(evidence) == counts
    assert fold_series(evidence)["s"].asked == 1


def test_counts_add_up_and_other_series_stay():
    """Each series has its own tally."""
    before = {"s": SeriesTally(asked=4, missed=1, miss_cached=90), "t": SeriesTally(asked=7)}
    evidence = of_arm(Arm.MISS, history=a_history(series=before))

    after = fold_series(evidence)

    assert after["t"] is before["t"]
    assert after["s"] == SeriesTally(asked=5, missed=1, miss_cached=90)
    assert evidence.history.series is before


@pytest.mark.parametrize(
    "changes", [{"answer": Answer.ABANDONED}, {"answer": Answer.BUSY}, {"probe": a_probe(prompt=SHARED)}]
)
def test_what_was_not_served_or_is_no_trial_leaves_the_tallies_as_they_are(changes: dict[str, object]):
    """The very same mapping, so that histories share it."""
    evidence = of_arm(Arm.MISS, **changes)

    assert fold_series(evidence) is evidence.history.series


def test_a_detector_sees_the_tally_with_the_present_answer():
    """The second hit is the second one when it is judged, not one later."""
    evidence = of_arm(
        Arm.HIT, PRIMED, cached=800, history=a_history(PRIMED, series={"s": SeriesTally(hits=1, shared=1)})
    )

    assert tally_after(evidence, Trial(series="s", number=1, arm=Arm.HIT)).shared == 2


def test_an_answer_that_was_no_trial_of_recall_is_not_asked_anything():
    """Its cached tokens and its time count all the same."""
    truncated = of_arm(Arm.MISS, cached=64, answer=Answer.TRUNCATED)

    assert fold_series(truncated)["s"] == SeriesTally(miss_cached=64)
