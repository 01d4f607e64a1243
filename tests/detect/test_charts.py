"""Failings that become common."""

import dataclasses

import pytest
from hypothesis import given, settings

from prober.detect.charts import (
    CHARTS,
    CHOICES,
    DOUBLED,
    DRIFT,
    EMPTY,
    HEADLESS,
    LOOPS,
    REPLAYS,
    RESTARTED,
    SALADS,
    STRAYS,
    Chart,
    failings_of,
    fold_scores,
    is_replay_lost,
)
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence, History
from prober.domain.marks import Marks
from prober.domain.observation import Usage
from prober.domain.options import Arm, RequestOptions, Trial
from prober.domain.probe import Role
from prober.domain.reading import Garble, Recall
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    END,
    END_MISSED,
    HEAD,
    a_history,
    a_mark,
    a_probe,
    a_prompt,
    a_reading,
    a_target,
    an_evidence,
    an_observation,
    evidences,
)

ONLY_END = Recall(asked=(HEAD, END), found=(END,))
REPLAYED = {"prompt": a_prompt(text_sha256="t1"), "history": a_history(a_mark())}
OTHER = tuple(range(100, 164))


def drifting(arm: Arm = Arm.CHECK, series: str = "drift", cohort: str = "a") -> dict[str, object]:
    return {"probe": a_probe(trial=Trial(series=series, number=1, arm=arm, cohort=cohort))}


def missing(**changes: object) -> dict[str, object]:
    return {"reading": a_reading(recall=ALL_MISSED, **changes)}


@pytest.mark.parametrize(
    ("chart", "parts", "count"),
    [
        (REPLAYS, {**REPLAYED, **missing(signature=OTHER)}, (1, 1)),
        (REPLAYS, {**REPLAYED, **missing()}, (1, 1)),
        (REPLAYS, {**REPLAYED, "reading": a_reading()}, (0, 1)),
        (REPLAYS, {**REPLAYED, **missing(signature=a_mark().signature)}, (0, 1)),
        (REPLAYS, {**REPLAYED, **missing(sha256="f" * 64, signature=OTHER)}, (0, 1)),
        (REPLAYS, {**REPLAYED, "history": a_history(a_mark(is_recall_missed=True)), **missing()}, None),
        (REPLAYS, {**REPLAYED, "history": a_history(), **missing()}, None),
        (REPLAYS, {**REPLAYED, "answer": Answer.TRUNCATED, **missing()}, None),
        (LOOPS, missing(garble=Garble(longest_loop=64)), (1, 1)),
        (LOOPS, {"reading": a_reading(garble=Garble(longest_loop=64))}, (0, 1)),
        (LOOPS, {**missing(garble=Garble(longest_loop=64)), "history": History()}, None),
        (LOOPS, {**missing(garble=Garble(longest_loop=64)), "answer": Answer.ABANDONED}, None),
        (DOUBLED, {"reading": a_reading(words=12, garble=Garble(doubled_words=5))}, (5, 12)),
        (DOUBLED, {"reading": a_reading(words=3, garble=Garble(doubled_words=5))}, (3, 3)),
        (DOUBLED, {"reading": a_reading(garble=Garble(doubled_words=5, longest_loop=24))}, None),
        (DOUBLED, {"history": History()}, None),
        (DOUBLED, {"answer": Answer.EMPTY}, None),
        (EMPTY, {"answer": Answer.EMPTY}, (1, 1)),
        (EMPTY, {}, (0, 1)),
        (EMPTY, {"answer": Answer.EMPTY, "target": a_target(thinking=True)}, None),
        (EMPTY, {"answer": Answer.EMPTY, "observation": an_observation(usage=Usage(reasoning_tokens=9))}, None),
        (EMPTY, {"answer": Answer.EMPTY, "history": History()}, None),
        (EMPTY, {"answer": Answer.EMPTY, "probe": a_probe(options=RequestOptions(favoured_token=1))}, None),
        (EMPTY, {"answer": Answer.HANG}, None),
        (RESTARTED, {"reading": a_reading(repeats_opening=True)}, (1, 1)),
        (RESTARTED, {}, (0, 1)),
        (RESTARTED, {"reading": a_reading(repeats_opening=True), "answer": Answer.HANG}, None),
        (HEADLESS, {"reading": a_reading(recall=ONLY_END), "history": History(whole_recalls=5)}, (1, 1)),
        (HEADLESS, {"reading": a_reading(recall=ALL_FOUND), "history": History(whole_recalls=5)}, (0, 1)),
        (HEADLESS, {"reading": a_reading(recall=ONLY_END), "history": History(whole_recalls=4)}, None),
        (HEADLESS, {"reading": a_reading(recall=END_MISSED), "history": History(whole_recalls=5)}, None),
        (
            HEADLESS,
            {"reading": a_reading(recall=Recall(asked=(END,), found=(END,))), "history": History(whole_recalls=5)},
            None,
        ),
        (DRIFT, {**drifting(), **missing()}, (1, 1)),
        (DRIFT, drifting(), (0, 1)),
        (DRIFT, {**drifting(), "reading": a_reading(garble=Garble(scripts=3))}, (1, 1)),
        (DRIFT, {**drifting(), "answer": Answer.EMPTY}, (1, 1)),
        (DRIFT, {**drifting(), **REPLAYED, **missing()}, (1, 1)),
        (
            DRIFT,
            {**drifting(), **REPLAYED, "history": a_history(a_mark(is_recall_missed=True)), **missing()},
            None,
        ),
        (DRIFT, {**drifting(), **missing(), "history": History()}, None),
        (DRIFT, {**drifting(), "answer": Answer.BUSY}, None),
        (DRIFT, {**drifting(), "answer": Answer.TRUNCATED}, None),
        (DRIFT, {**drifting(arm=Arm.REFERENCE), **missing()}, None),
        (DRIFT, {**drifting(series="replay/1"), **missing()}, None),
        (DRIFT, missing(), None),
        (CHOICES, missing(foreign_choice="amber lamp"), (1, 1)),
        (CHOICES, {"reading": a_reading(foreign_choice="amber lamp")}, (0, 1)),
        (CHOICES, {**missing(foreign_choice="amber lamp"), "answer": Answer.EMPTY}, None),
        (SALADS, {"reading": a_reading(garble=Garble(scripts=3)), "history": History()}, (1, 1)),
        (SALADS, {}, (0, 1)),
        (SALADS, {"answer": Answer.BUSY}, None),
        (SALADS, {"probe": a_probe(options=RequestOptions(favoured_token=1))}, None),
        (REPLAYS, {**REPLAYED, "answer": Answer.EMPTY}, (1, 1)),
        (REPLAYS, {**REPLAYED, "answer": Answer.EMPTY, "target": a_target(thinking=True)}, None),
        (
            REPLAYS,
            {**REPLAYED, "answer": Answer.EMPTY, "probe": a_probe(options=RequestOptions(favoured_token=1))},
            None,
        ),
        (STRAYS, missing(stray_words=1), (1, 1)),
        (STRAYS, missing(stray_words=1, novel_words=1), (0, 1)),
        (STRAYS, missing(stray_words=1, is_refusal_like=True), (0, 1)),
        (STRAYS, missing(), (0, 1)),
        (STRAYS, {"reading": a_reading(stray_words=1)}, (0, 1)),
        (STRAYS, {**missing(stray_words=1), "history": History()}, None),
        (STRAYS, {**missing(stray_words=1), "answer": Answer.EMPTY}, None),
    ],
)
def test_an_answer_counts_for_a_chart(chart: Chart, parts: dict[str, object], count: tuple[int, int] | None):
    """Failures and trials; nothing where the answer is no trial of that failing."""
    evidence = an_evidence(**parts)

    assert chart.count(evidence) == count
    assert (chart.after(evidence) is None) is (count is None)


@pytest.mark.parametrize(("reference", "now"), [((), OTHER), (a_mark().signature, ())])
def test_answers_too_short_to_compare_are_unlike_when_they_differ(reference: tuple[int, ...], now: tuple[int, ...]):
    """A bare phrase of six words has no signature; another hash is then another answer."""
    history = a_history(a_mark(signature=reference))
    evidence = an_evidence(**{**REPLAYED, "history": history, **missing(signature=now)})

    assert is_replay_lost(evidence) is True


def crossed_after(chart: Chart, evidence: Evidence) -> int:
    """Failures in a row from a score of 0 that alarm."""
    count = 0
    while True:
        count += 1
        if chart.alarms(evidence):
            return count
        history = dataclasses.replace(evidence.history, scores=fold_scores(evidence))
        evidence = dataclasses.replace(evidence, history=history)


@pytest.mark.parametrize(
    ("chart", "parts", "failures"),
    [
        (REPLAYS, {**REPLAYED, **missing()}, 4),
        (LOOPS, missing(garble=Garble(longest_loop=64)), 2),
        (DOUBLED, {"reading": a_reading(words=10, garble=Garble(doubled_words=1))}, 8),
        (EMPTY, {"answer": Answer.EMPTY}, 3),
        (RESTARTED, {"reading": a_reading(repeats_opening=True)}, 3),
        (
            HEADLESS,
            {"reading": a_reading(recall=ONLY_END), "history": History(whole_recalls=5)},
            3,
        ),
        (DRIFT, {**drifting(), **missing()}, 5),
        (CHOICES, missing(foreign_choice="amber lamp"), 2),
        (STRAYS, missing(stray_words=1), 4),
        (SALADS, {"reading": a_reading(garble=Garble(scripts=3))}, 2),
    ],
)
def test_so_many_failures_in_a_row_alarm(chart: Chart, parts: dict[str, object], failures: int):
    """And a single one never does."""
    assert crossed_after(chart, an_evidence(**parts)) == failures > 1


OF_TEXT = (LOOPS, DOUBLED, EMPTY, RESTARTED, HEADLESS, CHOICES, STRAYS, SALADS)
FAILED = {
    "loops": missing(garble=Garble(longest_loop=64)),
    "doubled": {"reading": a_reading(words=10, garble=Garble(doubled_words=3))},
    "empty": {"answer": Answer.EMPTY},
    "restarted": {"reading": a_reading(repeats_opening=True)},
    "headless": {"reading": a_reading(recall=ONLY_END)},
    "choices": missing(foreign_choice="amber lamp"),
    "strays": missing(stray_words=1),
    "salads": {"reading": a_reading(garble=Garble(scripts=3))},
}


def asked_again(chart: Chart, *, earlier: tuple[str, ...], text: str = "t1", is_reference: bool = False) -> Evidence:
    """A failing answer to text "t1", after an answer to `text` that failed in the charts named."""
    marks = Marks.of([a_mark(text_sha256=text, failings=earlier)])
    kept = {"references": marks} if is_reference else {"marks": marks}
    history = dataclasses.replace(a_history(whole_recalls=5, scores={chart.name: 50.0}), **kept)
    return an_evidence(**{**FAILED[chart.name], "prompt": a_prompt(text_sha256="t1"), "history": history})


@pytest.mark.parametrize("chart", OF_TEXT, ids=lambda chart: chart.name)
@pytest.mark.parametrize("is_reference", [False, True])
def test_a_text_that_failed_before_is_no_trial_of_that_failing(chart: Chart, *, is_reference: bool):
    """Greedy decoding fails the same way each time the same text is asked: seventy replays are not seventy trials."""
    again = asked_again(chart, earlier=(chart.name,), is_reference=is_reference)

    assert not chart.alarms(again)
    assert chart.after(again) is None
    assert chart.name in failings_of(again)


@pytest.mark.parametrize("chart", OF_TEXT, ids=lambda chart: chart.name)
def test_other_texts_and_other_failings_are_trials(chart: Chart):
    """Only the very same failing of the very same text is old news."""
    assert chart.alarms(asked_again(chart, earlier=()))
    assert chart.alarms(asked_again(chart, earlier=("another",)))
    assert chart.alarms(asked_again(chart, earlier=(chart.name,), text="t2"))


def test_which_failings_are_of_a_text():
    """Comparisons with what the same text brought before are none of them."""
    assert {chart.name for chart in CHARTS if chart.is_of_text} == {chart.name for chart in OF_TEXT}


def test_a_passed_trial_never_alarms():
    """The alarm stands at an answer that shows the failing."""
    evidence = an_evidence(history=a_history(scores=dict.fromkeys((chart.name for chart in CHARTS), 50.0)))

    assert [chart.name for chart in CHARTS if chart.alarms(evidence)] == []


def test_cohorts_drift_for_themselves():
    """A single bad replica is not hidden by the good ones."""
    failed = an_evidence(**{**drifting(cohort="b"), **missing()})

    assert DRIFT.key(failed) == "drift/b"
    assert {"drift/b"} == {name for name in fold_scores(failed) if name.startswith("drift")}
    assert DRIFT.key(an_evidence(probe=a_probe(options=RequestOptions(session="s")))) == "drift/s"
    assert LOOPS.key(failed) == "loops"
    assert DRIFT.key(an_evidence()) == DRIFT.key(an_evidence(**drifting(cohort=""))) == "drift"


def test_what_is_no_trial_leaves_the_scores_as_they_are():
    """The very same mapping, so that histories share it."""
    history = a_history(scores={"loops": 1.0})
    evidence = an_evidence(answer=Answer.BUSY, history=history, probe=a_probe(role=Role.CALIBRATION))

    assert fold_scores(evidence) is history.scores


@pytest.mark.no_coverage
@settings(max_examples=100, derandomize=True, deadline=None)
@given(evidence=evidences())
def test_charts_are_total(evidence: Evidence):
    """Any evidence is a trial with no more failures than trials, or none."""
    for chart in CHARTS:
        counted = chart.count(evidence)
        assert counted is None or 0 <= counted[0] <= counted[1]
    assert set(fold_scores(evidence)) >= set(evidence.history.scores)
