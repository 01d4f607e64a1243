"""What a finding looks like from outside, in the terms by which public reports tell the kinds of fault apart."""

import enum
from collections.abc import Mapping, Sequence
from typing import Final

from prober.detect.recall import is_decisive_missed, is_free
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.prompt import NeedlePosition
from prober.domain.reading import Tier


class Symptom(enum.Enum):
    """One face of a fault."""

    SWAPPED = "swapped"
    """The whole answer is another prompt's."""
    MIXED = "mixed"
    """Another prompt's text stands beside the answer's own, or in pieces."""
    STRAY = "stray"
    """Single tokens are doubled, lost or foreign."""
    REPEATED = "repeated"
    """An answer or its id came before."""
    LOST = "lost"
    """The answer does not know its own prompt, and nobody else's text is in it."""
    HEADLESS = "headless"
    """It knows the end of its prompt alone, or of a shortened one."""
    GARBLED = "garbled"
    COLLAPSED = "collapsed"
    """It keeps to a constraint that it was not given."""
    CACHED = "cached"
    """It was spared work that it should have cost."""
    SERVED = "served"
    """It should not have been given at all."""
    UNTRUE = "untrue"
    """A failure told as success, or an end that is none."""
    STUCK = "stuck"
    """Nothing comes any more."""
    DRIFTED = "drifted"
    ODD = "odd"
    """One replica or session differs from the others."""


_FOREIGN: Final = frozenset({Reason.FOREIGN_CANARY, Reason.LATE_ECHO, Reason.FOREIGN_FRAGMENTS, Reason.FOREIGN_TEXT})
_DECODED: Final = _FOREIGN - {Reason.FOREIGN_TEXT}
_MISSING: Final = frozenset(
    {Reason.RECALL_MISSED, Reason.RECALL_COLLAPSED, Reason.LOST_UNDER_LOAD, Reason.REPLAY_DIVERGED}
)

_BY_REASON: Final[Mapping[Reason, Symptom]] = {
    Reason.SERVED_OVER_LIMIT: Symptom.SERVED,
    Reason.SERVED_OVER_CONTEXT: Symptom.SERVED,
    Reason.SERVED_INVALID: Symptom.SERVED,
    Reason.TRUNCATED: Symptom.HEADLESS,
    Reason.USAGE_MISMATCH: Symptom.ODD,
    Reason.PREFILL_TOO_FAST: Symptom.CACHED,
    Reason.CACHE_HIT_ON_NEW_TEXT: Symptom.CACHED,
    Reason.CACHE_SHARED: Symptom.CACHED,
    Reason.DUPLICATE_RESPONSE_ID: Symptom.REPEATED,
    Reason.NEAR_DUPLICATE_ANSWER: Symptom.REPEATED,
    Reason.GARBLED: Symptom.GARBLED,
    Reason.TOKENS_DOUBLED: Symptom.STRAY,
    Reason.VOCABULARY_COLLAPSED: Symptom.COLLAPSED,
    Reason.REASONING_CUT: Symptom.COLLAPSED,
    Reason.STREAM_BROKEN: Symptom.UNTRUE,
    Reason.EMPTY_ANSWER: Symptom.UNTRUE,
    Reason.WEDGED: Symptom.STUCK,
    Reason.HANG: Symptom.STUCK,
    Reason.DRIFTED: Symptom.DRIFTED,
    Reason.COHORT_DIFFERS: Symptom.ODD,
    Reason.REROUTED: Symptom.ODD,
}


def symptom_of(evidence: Evidence, finding: Finding, findings: Sequence[Finding]) -> Symptom | None:
    """Name what a finding shows, beside the other findings about the same answer; None: it points to no fault."""
    if finding.reason is Reason.FOREIGN_TEXT and _is_garbled(findings):
        return Symptom.GARBLED
    if finding.reason in _FOREIGN:
        return _foreign(evidence, finding)
    if finding.reason in _MISSING:
        is_control = finding.outcome is Outcome.INCONCLUSIVE and not evidence.history.is_recall_proven
        return None if is_control else _missing(evidence, findings)
    return _BY_REASON.get(finding.reason)


def _foreign(evidence: Evidence, finding: Finding) -> Symptom:
    """Whole or in pieces: by whether the answer still knows its own prompt."""
    if finding.reason is Reason.FOREIGN_FRAGMENTS and finding.detector == "tokens":
        return Symptom.STRAY
    is_whole = finding.reason is Reason.FOREIGN_TEXT or any(s.tier is not Tier.FRAGMENTS for s in finding.sightings)
    return Symptom.SWAPPED if is_whole and _is_own_lost(evidence) else Symptom.MIXED


def _is_own_lost(evidence: Evidence) -> bool:
    """Nothing of the own prompt came back: no needle, and no canary text either."""
    reading = evidence.reading
    if not reading.recall.asked or not is_free(evidence.probe):
        return not reading.own
    return is_decisive_missed(evidence) and not reading.recall.found


def _is_garbled(findings: Sequence[Finding]) -> bool:
    """Beside it the answer was found corrupted: its words are novel because they are none."""
    return any(other.reason is Reason.GARBLED and other.outcome is not Outcome.CLEAN for other in findings)


def _missing(evidence: Evidence, findings: Sequence[Finding]) -> Symptom:
    reasons = {other.reason for other in findings if other.outcome is not Outcome.CLEAN}
    recall = evidence.reading.recall
    if _is_garbled(findings) and not reasons & _DECODED:
        return Symptom.GARBLED
    if reasons & _FOREIGN:
        return Symptom.SWAPPED if _is_own_lost(evidence) else Symptom.MIXED
    if recall.found == (NeedlePosition.END,) and recall.missed:
        return Symptom.HEADLESS
    return Symptom.LOST
