"""Is what is recalled alone also recalled beside others?"""

import math
from typing import Final

from prober.detect.recall import compared_miss
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.series import SeriesTally
from prober.stats.contingency import excess_p_value, spent_alpha

_NAME = "lost_under_load"

WARN_ALPHA: Final = 1e-4
"""Chance that a healthy run is ever warned about, over all looks."""


_SERIES = "parallel/"
_ALONE = 1
_LEAST_LEVEL = 1e-30


def detect_lost_under_load(evidence: Evidence) -> tuple[Finding, ...]:
    """Compare misses at any concurrency (series `parallel/<number>`) with misses alone (series `parallel/1`).

    Exact test at each new miss, its level shared out over the looks, so that a healthy run is SUSPECT with probability
    1e-4 whatever its honest rate of misses. `evidence_bits` are those of the level reached; the ladder joins it from
    1e-6 (20 bits) on.
    """
    trial = evidence.probe.trial
    if trial is None or not compared_miss(evidence):
        return ()
    if _load(trial.series) <= _ALONE:
        return ()
    alone = evidence.history.series.get(f"{_SERIES}{_ALONE}", SeriesTally())
    asked, missed = _under_load(evidence)
    p_value = excess_p_value(failures=missed, trials=asked, other_failures=alone.missed, other_trials=alone.asked)
    level = p_value / spent_alpha(1.0, missed)
    if level > WARN_ALPHA:
        return ()
    return (
        Finding(
            detector=_NAME,
            outcome=Outcome.SUSPECT,
            reason=Reason.LOST_UNDER_LOAD,
            message=(
                f"Beside other requests {missed} of {asked} answers miss their own phrase, alone {alone.missed} of "
                f"{alone.asked} do (level {level:.1e})."
            ),
            probe_label=evidence.probe.label,
            evidence_bits=-math.log2(max(level, _LEAST_LEVEL)),
        ),
    )


def _load(series: str) -> int:
    """Concurrency of a series; 0 for one that is about something else."""
    number = series.removeprefix(_SERIES)
    return int(number) if series != number and number.isascii() and number.isdigit() else 0


def _under_load(evidence: Evidence) -> tuple[int, int]:
    """Trials and misses at all concurrencies above one, this answer included."""
    tallies = [tally for series, tally in evidence.history.series.items() if _load(series) > _ALONE]
    return 1 + sum(tally.asked for tally in tallies), 1 + sum(tally.missed for tally in tallies)
