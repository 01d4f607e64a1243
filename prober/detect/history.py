"""The run so far, folded probe by probe: what later probes are compared with."""

import dataclasses
import datetime as dt
from collections.abc import Iterable, Mapping

from prober.detect.accounts import fold_accounts
from prober.detect.cache_trial import is_of_primed_text
from prober.detect.charts import fold_scores
from prober.detect.counts import credible_cached_tokens
from prober.detect.marking import mark_of
from prober.detect.recall import RECALL_CUSUM, is_decisive_missed, is_fair, is_proven, recall_trial
from prober.detect.series import fold_series
from prober.domain.answer import Answer
from prober.domain.evidence import Evidence, History, Judgement
from prober.domain.finding import Reason
from prober.domain.mark import AnswerMark
from prober.domain.marks import Marks
from prober.domain.options import Arm
from prober.domain.outcome import Outcome
from prober.domain.probe import Role

MAX_TIMINGS = 32
"""Per anchor size; the quickest are kept, since the least of all is what counts."""


def beginning(reference: Iterable[AnswerMark] = ()) -> History:
    """Begin a run that can look back at the reference answers of an earlier one, given oldest first."""
    return History(references=Marks.of(mark for mark in reference if _is_reference(mark)))


def advance(history: History, judgement: Judgement) -> History:
    """Fold one judgement in, in the order of judging; the argument stays as it is."""
    evidence = dataclasses.replace(judgement.evidence, history=history)
    reasons = frozenset(finding.reason for finding in judgement.findings)
    mark = mark_of(judgement)
    is_conclusive = judgement.outcome is not Outcome.INCONCLUSIVE and evidence.probe.role is not Role.CALIBRATION
    first_token = _sound_first_token(judgement)
    has_failed = recall_trial(evidence)
    # What the LLM can do shows where it got its whole prompt for certain.
    is_control = has_failed is not None and not evidence.probe.is_over_limit
    trials = history.recall_trials + is_control
    passes = history.recall_passes + (is_control and not is_decisive_missed(evidence))
    return History(
        anchors=_anchors(history.anchors, evidence, first_token),
        quickest_first_token=_least(history.quickest_first_token, first_token),
        recall_score=_recall_score(history, has_failed=has_failed),
        recall_trials=trials,
        recall_passes=passes,
        is_recall_proven=history.is_recall_proven or is_proven(trials, passes),
        fast_probe_labels=_fast_probe_labels(history.fast_probe_labels, evidence.probe.label, reasons),
        fast_until=_fast_until(history.fast_until, evidence, reasons),
        cached_tokens_baseline=_cached_tokens_baseline(history.cached_tokens_baseline, evidence, reasons),
        models_reported=_models_reported(history.models_reported, evidence),
        marks=history.marks.added(mark),
        references=history.references.added(mark) if _is_reference(mark) else history.references,
        series=fold_series(evidence),
        scores=fold_scores(evidence),
        whole_recalls=history.whole_recalls + _is_whole_recall(evidence),
        accounts=fold_accounts(history, evidence),
        have_logprobs_agreed=history.have_logprobs_agreed or evidence.observation.logprobs_agree is True,
        probes=history.probes + 1,
        conclusive=history.conclusive + is_conclusive,
        clean=history.clean + (is_conclusive and judgement.outcome is Outcome.CLEAN),
    )


def _is_reference(mark: AnswerMark) -> bool:
    return mark.role is Role.REFERENCE or (mark.trial is not None and mark.trial.arm is Arm.REFERENCE)


def _is_whole_recall(evidence: Evidence) -> bool:
    recall = evidence.reading.recall
    return is_fair(evidence) and len(recall.asked) > 1 and not recall.missed


def _sound_first_token(judgement: Judgement) -> float | None:
    """First-token seconds of a streamed, trusted, whole answer to fresh text, with nothing suspicious; else None."""
    evidence = judgement.evidence
    timeline = evidence.observation.timeline
    is_sound = (
        evidence.answer is Answer.SERVED_FULL
        and evidence.observation.is_stream
        and timeline.is_trusted
        and not evidence.reading.recall.is_end_missed
        and not is_of_primed_text(evidence)
        and judgement.outcome.rank < Outcome.SUSPECT.rank
    )
    return timeline.first_token if is_sound else None


def _anchors(
    anchors: Mapping[int, tuple[float, ...]], evidence: Evidence, first_token: float | None
) -> Mapping[int, tuple[float, ...]]:
    """Add a timing under the anchor's planned size, unless a prefix cache shortened it."""
    planned, counted = evidence.prompt.planned_tokens, evidence.observation.usage.prompt_tokens
    size = planned if planned is not None else counted
    is_cached = bool(credible_cached_tokens(evidence.observation.usage))
    if evidence.probe.role is not Role.ANCHOR or first_token is None or not size or is_cached:
        return anchors
    return {**anchors, size: tuple(sorted((*anchors.get(size, ()), first_token))[:MAX_TIMINGS])}


def _least(known: float | None, new: float | None) -> float | None:
    return min((seconds for seconds in (known, new) if seconds is not None), default=None)


def _recall_score(history: History, *, has_failed: bool | None) -> float:
    """Misses from before the LLM showed that it can recall are no change."""
    if has_failed is None or not history.is_recall_proven:
        return history.recall_score
    return RECALL_CUSUM.fold(history.recall_score, has_failed=has_failed)


def _fast_probe_labels(labels: tuple[str, ...], label: str, reasons: frozenset[Reason]) -> tuple[str, ...]:
    """Only a plausible timing breaks the streak; a probe whose timing was not judged leaves it."""
    if Reason.PREFILL_TOO_FAST in reasons:
        return (*labels, label)
    return () if Reason.PREFILL_PLAUSIBLE in reasons else labels


def _fast_until(known: dt.datetime | None, evidence: Evidence, reasons: frozenset[Reason]) -> dt.datetime | None:
    """Fold the end of the streak's latest answer, on the same terms as its labels."""
    if Reason.PREFILL_TOO_FAST not in reasons:
        return None if Reason.PREFILL_PLAUSIBLE in reasons else known
    observation, timeline = evidence.observation, evidence.observation.timeline
    took = (timeline.connect or 0.0) + (timeline.end or timeline.first_token or 0.0)
    ended = observation.sent_at + dt.timedelta(seconds=took)
    return ended if known is None else max(known, ended)


def _cached_tokens_baseline(baseline: int | None, evidence: Evidence, reasons: frozenset[Reason]) -> int | None:
    """Leave a flagged rise out: it must not become the new habit."""
    cached = credible_cached_tokens(evidence.observation.usage)
    is_new_text = not is_of_primed_text(evidence) and evidence.probe.options.malformation is None
    if cached is None or not is_new_text or not evidence.answer.is_served or Reason.CACHE_HIT_ON_NEW_TEXT in reasons:
        return baseline
    return max(cached, baseline or 0)


def _models_reported(models: tuple[str, ...], evidence: Evidence) -> tuple[str, ...]:
    """Each once, the latest last."""
    reported = evidence.observation.model_reported
    if reported is None or not evidence.answer.is_served or evidence.answer is Answer.REROUTED:
        return models
    return (*(model for model in models if model != reported), reported)
