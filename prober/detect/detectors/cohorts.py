"""Does one session or replica persistently answer unlike the others?"""

import collections
import itertools
from collections.abc import Hashable, Iterable, Mapping
from typing import Final

from prober.detect.marking import mark_evidence
from prober.detect.recall import compared_miss
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.mark import AnswerMark
from prober.domain.options import Trial
from prober.domain.outcome import Outcome
from prober.stats.contingency import excess_p_value, spent_alpha

_NAME = "cohorts"

LEAST_ANSWERS: Final = 3
"""Of a cohort, all alike, before it has a habit."""

WARN_ALPHA: Final = 1e-4
"""Chance that a healthy run is warned about any cohort's recall, over all looks and cohorts."""

_LEAST_AGREEING_LABELS = 2
"""Cohorts that share a label which another lacks: replicas may well each bear a name of their own."""

_BUILD, _LLM = "the build's fingerprint", "the LLM's name"
_LABELS = frozenset({_BUILD, _LLM})

_LATEST = 512
"""Answers of a series that are compared: habits are those of the present."""


def detect_cohorts(evidence: Evidence) -> tuple[Finding, ...]:
    """Compare the answers of one affinity key with those of the others (`Trial.cohort`), within a series.

    SUSPECT when a cohort's answers, three at least, all differ from those of others that are as steady: in the LLM or
    build they name, in the prompt tokens counted of one and the same text, in whether that text is served, cut or
    refused; or when it misses its phrases far more often (exact test, 1e-4 over all looks). Labels that vary within a
    cohort are a rolling build, and labels of which no two cohorts share one are names of replicas: both honest.
    """
    trial = evidence.probe.trial
    if trial is None or not trial.cohort:
        return ()
    earlier = itertools.islice(evidence.history.marks.of_series(trial.series), _LATEST)
    marks = [*earlier, mark_evidence(evidence, Outcome.INCONCLUSIVE)]
    steady = [
        what for what, habits in _habits(marks).items() if _is_odd(habits, trial.cohort, is_label=what in _LABELS)
    ]
    messages = [f"Answers of cohort {trial.cohort} persistently differ from others in {what}." for what in steady]
    messages += _forgetful(evidence, trial, marks)
    return tuple(
        Finding(
            detector=_NAME,
            outcome=Outcome.SUSPECT,
            reason=Reason.COHORT_DIFFERS,
            message=message,
            probe_label=evidence.probe.label,
        )
        for message in messages
    )


def _habits(marks: Iterable[AnswerMark]) -> Mapping[str, Mapping[str, Hashable]]:
    """What each cohort steadily does, by what is compared: texts are compared with themselves only."""
    seen: dict[str, dict[str, list[Hashable]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for mark in marks:
        if mark.trial is not None and mark.trial.cohort:
            for what, value in _features(mark):
                seen[what][mark.trial.cohort].append(value)
    return {
        what: {
            cohort: values[0]
            for cohort, values in cohorts.items()
            if len(values) >= LEAST_ANSWERS and len(set(values)) == 1
        }
        for what, cohorts in seen.items()
    }


def _features(mark: AnswerMark) -> Iterable[tuple[str, Hashable]]:
    if mark.answer in {Answer.SERVED_FULL, Answer.TRUNCATED}:
        labels = ((_BUILD, mark.system_fingerprint), (_LLM, mark.model_reported))
        yield from (label for label in labels if label[1] is not None)
        if mark.prompt_tokens is not None and mark.text_sha256:
            yield f"the prompt tokens of text {mark.text_sha256[:8]}", mark.prompt_tokens
    treatment = _TREATMENTS.get(mark.answer)
    if treatment is not None and mark.text_sha256:
        yield f"whether text {mark.text_sha256[:8]} is served", treatment


_TREATMENTS = {
    Answer.SERVED_FULL: "served",
    Answer.TRUNCATED: "cut",
    Answer.REJECTED_OK: "refused",
    Answer.REJECTED_IN_STREAM: "refused",
}


def _is_odd(habits: Mapping[str, Hashable], cohort: str, *, is_label: bool) -> bool:
    """The cohort has a habit that is not commoner than another one."""
    if cohort not in habits:
        return False
    bearers = collections.Counter(habits.values())
    own = bearers.pop(habits[cohort])
    return max(bearers.values(), default=0) >= max(own, _LEAST_AGREEING_LABELS if is_label else 1)


def _forgetful(evidence: Evidence, trial: Trial, marks: Iterable[AnswerMark]) -> list[str]:
    if not compared_miss(evidence):
        return []
    asked: collections.Counter[str] = collections.Counter()
    missed: collections.Counter[str] = collections.Counter()
    for mark in marks:
        if mark.trial is not None and mark.trial.cohort and mark.is_recall_missed is not None:
            asked[mark.trial.cohort] += 1
            missed[mark.trial.cohort] += mark.is_recall_missed
    own, own_missed = asked[trial.cohort], missed[trial.cohort]
    others, others_missed = asked.total() - own, missed.total() - own_missed
    p_value = excess_p_value(failures=own_missed, trials=own, other_failures=others_missed, other_trials=others)
    if p_value > spent_alpha(WARN_ALPHA, own_missed) / len(asked):
        return []
    message = (
        f"Answers of cohort {trial.cohort} miss their own phrase in {own_missed} of {own}, those of others in "
        f"{others_missed} of {others}."
    )
    return [message]
