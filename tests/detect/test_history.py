"""The run so far."""

import dataclasses
import datetime as dt
import tracemalloc
from collections.abc import Sequence

import pytest

from prober.detect.history import MAX_TIMINGS, advance, beginning
from prober.detect.marking import mark_of
from prober.detect.recall import RECALL_CUSUM
from prober.domain.answer import Answer
from prober.domain.evidence import History
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Timeline, Usage
from prober.domain.options import Arm, Malformation, RequestOptions, Trial
from prober.domain.outcome import Outcome
from prober.domain.probe import Probe, PromptSpec, Role, SharedText
from prober.domain.reading import Reading
from prober.domain.series import SeriesTally
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    DONOR,
    END_MISSED,
    NOON,
    a_finding,
    a_judgement,
    a_mark,
    a_probe,
    a_prompt,
    a_reading,
    a_target,
    an_evidence,
    an_observation,
)

ANCHOR = a_probe(role=Role.ANCHOR)
FULL = Usage(prompt_tokens=300_000)
CLEAN, INCONCLUSIVE, SUSPECT, VIOLATION = Outcome
FAST = a_finding(Reason.PREFILL_TOO_FAST, SUSPECT)
PLAUSIBLE = a_finding(Reason.PREFILL_PLAUSIBLE, CLEAN)


@pytest.mark.parametrize(
    ("role", "outcome", "conclusive", "clean"),
    [
        (Role.CHECK, CLEAN, 1, 1),
        (Role.CHECK, INCONCLUSIVE, 0, 0),
        (Role.CHECK, SUSPECT, 1, 0),
        (Role.CHECK, VIOLATION, 1, 0),
        (Role.DONOR, CLEAN, 1, 1),
        (Role.CALIBRATION, CLEAN, 0, 0),
    ],
)
def test_probes_conclusive_and_clean_are_counted(role: Role, outcome: Outcome, conclusive: int, clean: int):
    """Calibration concludes nothing about isolation."""
    judgement = a_judgement(an_evidence(probe=a_probe(role=role)), a_finding(Reason.SERVED, outcome))
    history = advance(History(), judgement)
    assert (history.probes, history.conclusive, history.clean) == (1, conclusive, clean)


def test_anchors_are_kept_by_planned_size():
    """Counts that differ by a token or two belong to one size; calibrating, the server's count stands in."""
    history = History()
    for reported, seconds in ((300_000, 30.0), (300_001, 31.0)):
        observation = an_observation(usage=Usage(prompt_tokens=reported), timeline=Timeline(first_token=seconds))
        history = advance(history, a_judgement(an_evidence(probe=ANCHOR, observation=observation)))
    unplanned = an_evidence(probe=ANCHOR, prompt=a_prompt(planned_tokens=None), reported=500)
    assert advance(history, a_judgement(unplanned)).anchors == {300_000: (30.0, 31.0), 500: (30.0,)}


def test_the_number_of_timings_is_bounded():
    """The quickest stay, whenever they came: a slow spell at the start must not be the run's measure for ever."""
    history = History()
    for count in range(MAX_TIMINGS + 5):
        observation = an_observation(usage=FULL, timeline=Timeline(first_token=10.0 + count))
        history = advance(history, a_judgement(an_evidence(probe=ANCHOR, observation=observation)))
    assert history.anchors[300_000] == tuple(10.0 + count for count in range(MAX_TIMINGS))
    late = an_observation(usage=FULL, timeline=Timeline(first_token=3.0))
    history = advance(history, a_judgement(an_evidence(probe=ANCHOR, observation=late)))
    assert history.anchors[300_000] == (3.0, *(10.0 + count for count in range(MAX_TIMINGS - 1)))


@pytest.mark.parametrize(
    "parts",
    [
        {"answer": Answer.TRUNCATED},
        {"observation": an_observation(usage=FULL, is_stream=False)},
        {"observation": an_observation(usage=FULL, timeline=Timeline(first_token=1.0, loop_lag_seconds=0.03))},
        {"observation": an_observation(usage=FULL, timeline=Timeline())},
        {"reading": a_reading(recall=END_MISSED)},
    ],
)
def test_only_sound_trusted_streamed_answers_anchor(parts: dict[str, object]):
    """A fast wrong answer must never become the measure of honest ones."""
    history = advance(History(), a_judgement(an_evidence(probe=ANCHOR, **parts)))
    assert (history.anchors, history.quickest_first_token) == ({}, None)


def test_a_suspicious_answer_anchors_nothing():
    """Whatever the suspicion is about."""
    history = advance(History(), a_judgement(an_evidence(probe=ANCHOR), FAST))
    assert (history.anchors, history.quickest_first_token) == ({}, None)


def test_a_cached_prefill_and_other_roles_give_no_anchor_but_bound_the_fixed_cost():
    """Part of the work was spared, or other probes were in flight; the request cost at least its fixed part."""
    cached = an_observation(usage=Usage(prompt_tokens=300_000, cached_tokens=64), timeline=Timeline(first_token=4.0))
    history = advance(History(), a_judgement(an_evidence(probe=ANCHOR, observation=cached)))
    assert (history.anchors, history.quickest_first_token) == ({}, 4.0)
    history = advance(history, a_judgement(an_evidence()))
    assert (history.anchors, history.quickest_first_token) == ({}, 4.0)
    quick = an_observation(usage=FULL, timeline=Timeline(first_token=0.5))
    assert advance(history, a_judgement(an_evidence(observation=quick))).quickest_first_token == 0.5


@pytest.mark.parametrize(
    ("findings", "labels"),
    [
        ((FAST,), ("a/1", "baseline/0001")),
        ((PLAUSIBLE,), ()),
        ((a_finding(Reason.TIMING_UNTRUSTED, INCONCLUSIVE),), ("a/1",)),
        ((a_finding(Reason.REJECTED_AS_DUE, CLEAN),), ("a/1",)),
    ],
)
def test_the_streak_of_fast_answers_is_broken_by_a_plausible_one_only(
    findings: Sequence[Finding], labels: tuple[str, ...]
):
    """Probes whose timing was not judged leave it as it is."""
    history = advance(History(fast_probe_labels=("a/1",)), a_judgement(an_evidence(), *findings))
    assert history.fast_probe_labels == labels


@pytest.mark.parametrize(
    ("known", "findings", "until"),
    [
        (None, (FAST,), NOON + dt.timedelta(seconds=33)),
        (NOON, (FAST,), NOON + dt.timedelta(seconds=33)),
        (NOON + dt.timedelta(minutes=1), (FAST,), NOON + dt.timedelta(minutes=1)),
        (NOON, (PLAUSIBLE,), None),
        (NOON, (a_finding(Reason.TIMING_UNTRUSTED, INCONCLUSIVE),), NOON),
    ],
)
def test_the_end_of_a_streak_of_fast_answers_is_known(
    known: dt.datetime | None, findings: Sequence[Finding], until: dt.datetime | None
):
    """It is when the latest of them ended, connecting included, and goes with the streak."""
    observation = an_observation(timeline=Timeline(connect=2.0, first_token=30.0, end=31.0))
    history = History(fast_probe_labels=("a/1",), fast_until=known)
    judged = a_judgement(an_evidence(observation=observation), *findings)
    assert advance(history, judged).fast_until == until


PROVEN = History(recall_score=2.0, recall_trials=5, recall_passes=5, is_recall_proven=True)


@pytest.mark.parametrize(
    ("reading", "score"),
    [
        (a_reading(recall=ALL_MISSED), RECALL_CUSUM.fold(2.0, has_failed=True)),
        (a_reading(), RECALL_CUSUM.fold(2.0, has_failed=False)),
        (a_reading(recall=ALL_MISSED, is_refusal_like=True), 2.0),
    ],
)
def test_the_change_score_folds_fair_trials_only(reading: Reading, score: float):
    """A refusal leaves it as it is."""
    assert advance(PROVEN, a_judgement(an_evidence(reading=reading))).recall_score == score


@pytest.mark.parametrize(
    ("parts", "findings", "baseline"),
    [
        ({"cached_tokens": 300}, (), 300),
        ({"cached_tokens": 50}, (), 100),
        ({"cached_tokens": None}, (), 100),
        ({"cached_tokens": 299_999}, (), 100),
        ({"cached_tokens": 9_000}, (a_finding(Reason.CACHE_HIT_ON_NEW_TEXT, SUSPECT),), 100),
    ],
)
def test_the_cached_baseline_is_the_largest_unflagged_count(
    parts: dict[str, object], findings: Sequence[Finding], baseline: int
):
    """A flagged rise must not become the new habit."""
    observation = an_observation(usage=Usage(prompt_tokens=300_000, **parts))
    judgement = a_judgement(an_evidence(observation=observation), *findings)
    assert advance(History(cached_tokens_baseline=100), judgement).cached_tokens_baseline == baseline


def test_the_cached_baseline_is_of_new_text_in_served_answers():
    """Resent text may be cached by right, a refusal computed nothing; the first count is believed, also zero."""
    observation = an_observation(usage=Usage(prompt_tokens=300_000, cached_tokens=0))
    resent = an_evidence(observation=observation, probe=a_probe(prompt=PromptSpec(tokens=1, rewrite_of=DONOR)))
    refused = an_evidence(observation=observation, answer=Answer.REJECTED_OK)
    assert advance(History(), a_judgement(resent)).cached_tokens_baseline is None
    assert advance(History(), a_judgement(refused)).cached_tokens_baseline is None
    assert advance(History(), a_judgement(an_evidence(observation=observation))).cached_tokens_baseline == 0


def test_reported_llms_are_kept_once_each_the_latest_last():
    """Whoever asks for the present one looks at the end; rerouted and refused answers name others."""
    history = History()
    for model in ("a", "b", None, "a"):
        history = advance(history, a_judgement(an_evidence(observation=an_observation(model_reported=model))))
    assert history.models_reported == ("b", "a")
    for answer in (Answer.REROUTED, Answer.REJECTED_OK):
        other = an_evidence(observation=an_observation(model_reported="c"), answer=answer)
        history = advance(history, a_judgement(other))
    assert history.models_reported == ("b", "a")


def test_the_argument_is_left_as_it_was():
    """Histories are values: earlier evidence keeps the one it was judged with."""
    before = History(anchors={300_000: (30.0,)})
    advance(before, a_judgement(an_evidence(probe=ANCHOR, target=a_target())))
    assert before == History(anchors={300_000: (30.0,)})


@pytest.mark.parametrize(
    ("passes", "misses", "is_proven"), [(4, 0, False), (5, 0, True), (5, 1, True), (5, 2, False), (8, 2, True)]
)
def test_recall_is_proven_by_five_passes_of_at_most_a_fifth_missed(passes: int, misses: int, *, is_proven: bool):
    """Misses come first here, so that the last pass decides."""
    history = History()
    for recall in [ALL_MISSED] * misses + [ALL_FOUND] * passes:
        history = advance(history, a_judgement(an_evidence(reading=a_reading(recall=recall))))

    assert history.is_recall_proven is is_proven


def test_a_proof_of_recall_lasts():
    """A target that fails later is what the proof is for; misses before it do not count as change."""
    missed = a_judgement(an_evidence(reading=a_reading(recall=ALL_MISSED)))
    history = advance(History(), missed)
    assert history.recall_score == 0.0

    history = advance(PROVEN, missed)
    for _ in range(20):
        history = advance(history, missed)

    assert history.is_recall_proven
    assert history.recall_score > RECALL_CUSUM.threshold


TRIAL = Trial(series="s", number=1, arm=Arm.REFERENCE)


@pytest.mark.parametrize(
    ("probe", "is_kept"),
    [
        (a_probe(role=Role.REFERENCE), True),
        (a_probe(trial=TRIAL), True),
        (a_probe(trial=dataclasses.replace(TRIAL, arm=Arm.CHECK)), False),
        (a_probe(), False),
    ],
)
def test_every_answer_leaves_a_mark_and_references_outlast_the_others(probe: Probe, *, is_kept: bool):
    """What later probes are compared with; a reference by its role or by its arm."""
    judgement = a_judgement(an_evidence(probe=probe))
    history = advance(History(), judgement)

    assert list(history.marks) == [mark_of(judgement)]
    assert list(history.references) == ([mark_of(judgement)] if is_kept else [])


def test_a_run_can_look_back_at_the_references_of_an_earlier_one():
    """They are references only: the answers of this run begin with it."""
    earlier = [a_mark(label="old/1"), a_mark(label="old/2", role=Role.CHECK)]
    history = beginning(earlier)

    assert [mark.label for mark in history.references] == ["old/1"]
    assert len(history.marks) == 0
    assert beginning() == History()


def test_scores_and_series_are_folded_with_what_was_known_before():
    """The history that is advanced counts, whatever the evidence was judged with."""
    evidence = an_evidence(
        probe=a_probe(trial=Trial(series="s", number=1, arm=Arm.CHECK)), reading=a_reading(recall=ALL_MISSED)
    )
    before = History(
        is_recall_proven=True, scores={"loops": 3.0, "other": 1.0}, series={"s": SeriesTally(asked=2, missed=1)}
    )
    history = advance(before, a_judgement(evidence))

    assert history.series == {"s": SeriesTally(asked=3, missed=2)}
    assert history.scores["other"] == 1.0
    assert 0 < history.scores["loops"] < 3.0
    assert before.scores == {"loops": 3.0, "other": 1.0}


@pytest.mark.parametrize(
    ("parts", "whole"),
    [({}, 1), ({"reading": a_reading(recall=END_MISSED)}, 0), ({"answer": Answer.TRUNCATED}, 0)],
)
def test_whole_recalls_are_counted(parts: dict[str, object], whole: int):
    """Only an LLM that has known all needles of a prompt can lose its head."""
    assert advance(History(), a_judgement(an_evidence(**parts))).whole_recalls == whole


@pytest.mark.parametrize(
    ("before", "agree", "after"),
    [(False, True, True), (False, False, False), (False, None, False), (True, False, True)],
)
def test_log_probabilities_that_fitted_once_are_remembered(*, agree: bool | None, before: bool, after: bool):
    """Only then do others that do not fit mean anything."""
    evidence = an_evidence(observation=an_observation(logprobs_agree=agree))
    history = advance(History(have_logprobs_agreed=before), a_judgement(evidence))

    assert history.have_logprobs_agreed is after


@pytest.mark.parametrize(
    "spec",
    [PromptSpec(tokens=1, rewrite_of=DONOR), PromptSpec(tokens=1, shared=SharedText(source=DONOR, lines=9))],
)
def test_primed_text_times_nothing_and_sets_no_baseline(spec: PromptSpec):
    """It may be cached by right: sooner than any fixed cost, and with more cached tokens than fresh text reports."""
    observation = an_observation(
        usage=Usage(prompt_tokens=300_000, cached_tokens=64), timeline=Timeline(first_token=0.01)
    )
    for role in (Role.ANCHOR, Role.CHECK):
        evidence = an_evidence(probe=a_probe(role=role, prompt=spec), observation=observation)
        history = advance(History(), a_judgement(evidence))
        assert (history.anchors, history.quickest_first_token, history.cached_tokens_baseline) == ({}, None, None)


def test_a_broken_request_sets_no_baseline():
    """Its messages may never have been read."""
    observation = an_observation(usage=Usage(prompt_tokens=300_000, cached_tokens=64))
    probe = a_probe(options=RequestOptions(malformation=Malformation.NO_MESSAGES))
    history = advance(History(), a_judgement(an_evidence(probe=probe, observation=observation)))

    assert history.cached_tokens_baseline is None


@pytest.mark.no_coverage
def test_advancing_costs_little_however_long_the_run():
    """20,000 probes keep as many histories: no more than 4 kB apiece, with scores, series and references."""
    history, versions = History(), []
    judgements = [
        a_judgement(
            an_evidence(
                probe=a_probe(
                    role=Role.REFERENCE if number == 0 else Role.CHECK,
                    trial=Trial(series=f"parallel/{number}", number=number, arm=Arm.CHECK),
                ),
                reading=a_reading(signature=tuple(range(number, number + 64))),
            )
        )
        for number in range(8)
    ]
    tracemalloc.start()
    for number in range(4_000):
        history = advance(history, judgements[number % 8])
        versions.append(history)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(history.marks) >= 2_048
    assert used / len(versions) < 4_096
