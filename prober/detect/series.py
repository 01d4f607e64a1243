"""Counts of trials by series, folded answer by answer."""

import dataclasses
from collections.abc import Mapping

from prober.detect.cache_trial import is_cached, is_crossing, signs
from prober.detect.counts import credible_cached_tokens
from prober.detect.recall import compared_miss
from prober.domain.evidence import Evidence
from prober.domain.options import Arm, Trial
from prober.domain.series import SeriesTally


def tally_after(evidence: Evidence, trial: Trial) -> SeriesTally:
    """Counts of the answer's series once it is folded in."""
    tally = evidence.history.series.get(trial.series, SeriesTally())
    missed = compared_miss(evidence)
    if missed is not None:
        tally = dataclasses.replace(tally, asked=tally.asked + 1, missed=tally.missed + missed)
    return _timed(_cached(tally, evidence, trial), evidence, trial)


def fold_series(evidence: Evidence) -> Mapping[str, SeriesTally]:
    """Tallies once an answer is folded in; the same mapping where it belongs to no series or was not served."""
    trial, series = evidence.probe.trial, evidence.history.series
    if trial is None or not evidence.answer.is_served:
        return series
    return {**series, trial.series: tally_after(evidence, trial)}


def _cached(tally: SeriesTally, evidence: Evidence, trial: Trial) -> SeriesTally:
    if trial.arm is Arm.MISS:
        counts = [tally.miss_cached, credible_cached_tokens(evidence.observation.usage)]
        return dataclasses.replace(tally, miss_cached=max((c for c in counts if c is not None), default=None))
    found = is_cached(evidence, trial)
    if trial.arm is Arm.CONTROL and found is not None:
        return dataclasses.replace(tally, controls=tally.controls + 1, control_hits=tally.control_hits + found)
    if found is not None and is_crossing(evidence, trial):
        return dataclasses.replace(tally, hits=tally.hits + 1, shared=tally.shared + found)
    return tally


def _timed(tally: SeriesTally, evidence: Evidence, trial: Trial) -> SeriesTally:
    for arm, is_faster in signs(evidence, trial):
        if arm is Arm.HIT:
            tally = dataclasses.replace(tally, faster=tally.faster + is_faster, slower=tally.slower + (not is_faster))
        else:
            tally = dataclasses.replace(
                tally,
                control_faster=tally.control_faster + is_faster,
                control_slower=tally.control_slower + (not is_faster),
            )
    return tally
