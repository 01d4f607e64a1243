"""Join what the axes say about one probe: two of them agreeing page, where each alone only warns.

The joined rates of false pages are products of the axes' own: none is joined with an axis it implies. A SUSPECT that
joins has a rate of at most 1e-3 by itself (fragments of 16 bits, a replay that says something else, a response id that
comes again), so that two that do not depend on each other page at most once in a million answers.
"""

import dataclasses
import enum
import math

from prober.detect.recall import is_decisive_missed
from prober.domain.evidence import Evidence
from prober.domain.finding import Finding, Reason
from prober.domain.outcome import Outcome
from prober.domain.probe import Role
from prober.domain.target import OverlongContract


class Axis(enum.Enum):
    """Independent views of one answer."""

    STATUS = "status"
    RECALL = "recall"
    TIMING = "timing"
    FRAGMENTS = "fragments"
    NOVELTY = "novelty"
    USAGE = "usage"
    CANARY = "canary"
    """A decoded canary that is a violation by itself; a weaker one counts among the fragments."""
    IDENTITY = "identity"
    """A response id that came before."""
    DUPLICATE = "duplicate"
    REPLAY = "replay"
    GARBLE = "garble"
    LOAD = "load"
    EMPTINESS = "emptiness"
    """A success without a token: how an error path is written up."""


_AXIS_OF = {
    Reason.SERVED_OVER_LIMIT: Axis.STATUS,
    Reason.SERVED_OVER_CONTEXT: Axis.STATUS,
    Reason.RECALL_MISSED: Axis.RECALL,
    Reason.RECALL_COLLAPSED: Axis.RECALL,
    Reason.PREFILL_TOO_FAST: Axis.TIMING,
    Reason.FOREIGN_FRAGMENTS: Axis.FRAGMENTS,
    Reason.FOREIGN_TEXT: Axis.NOVELTY,
    Reason.USAGE_MISMATCH: Axis.USAGE,
    Reason.CACHE_HIT_ON_NEW_TEXT: Axis.USAGE,
    Reason.FOREIGN_CANARY: Axis.CANARY,
    Reason.LATE_ECHO: Axis.CANARY,
    Reason.DUPLICATE_RESPONSE_ID: Axis.IDENTITY,
    Reason.NEAR_DUPLICATE_ANSWER: Axis.DUPLICATE,
    Reason.REPLAY_DIVERGED: Axis.REPLAY,
    Reason.GARBLED: Axis.GARBLE,
    Reason.LOST_UNDER_LOAD: Axis.LOAD,
    Reason.EMPTY_ANSWER: Axis.EMPTINESS,
}

_OVER_LIMIT = frozenset(
    {Axis.RECALL, Axis.TIMING, Axis.FRAGMENTS, Axis.NOVELTY, Axis.CANARY, Axis.GARBLE, Axis.DUPLICATE}
)

_ELSEWHERE = frozenset({Axis.STATUS, Axis.TIMING, Axis.IDENTITY})
"""Views that do not depend on what the answer says."""

_ESCALATED_BY = {
    Reason.SERVED_OVER_LIMIT: _OVER_LIMIT,
    Reason.SERVED_OVER_CONTEXT: _OVER_LIMIT,
    # Novelty requires a missed END needle already, so that recall and novelty never confirm each other; nor do the
    # comparisons (replay, load, duplicate), which begin with one.
    Reason.FOREIGN_TEXT: _ELSEWHERE,
    Reason.FOREIGN_FRAGMENTS: _ELSEWHERE | {Axis.REPLAY, Axis.LOAD},
    Reason.FOREIGN_CANARY: _ELSEWHERE | {Axis.REPLAY, Axis.LOAD, Axis.DUPLICATE},
    Reason.LATE_ECHO: _ELSEWHERE | {Axis.REPLAY, Axis.LOAD},
    Reason.NEAR_DUPLICATE_ANSWER: _ELSEWHERE | {Axis.FRAGMENTS, Axis.CANARY},
    Reason.DUPLICATE_RESPONSE_ID: frozenset(
        {Axis.DUPLICATE, Axis.REPLAY, Axis.FRAGMENTS, Axis.CANARY, Axis.NOVELTY, Axis.TIMING}
    ),
    Reason.REPLAY_DIVERGED: _ELSEWHERE | {Axis.FRAGMENTS, Axis.CANARY},
    Reason.LOST_UNDER_LOAD: frozenset({Axis.FRAGMENTS, Axis.CANARY, Axis.IDENTITY}),
    # A request that had to be refused, and whose answer shows that nothing of it was computed.
    Reason.SERVED_INVALID: frozenset({Axis.FRAGMENTS, Axis.CANARY, Axis.EMPTINESS}),
    Reason.RECALL_COLLAPSED: frozenset({Axis.STATUS, Axis.TIMING, Axis.FRAGMENTS, Axis.USAGE}),
    # Where the pool is unknown an answer may be due: then content and timing must agree.
    Reason.PREFILL_TOO_FAST: frozenset({Axis.RECALL, Axis.FRAGMENTS, Axis.IDENTITY, Axis.DUPLICATE, Axis.GARBLE}),
}
"""Warnings, and the axes of which any one turns them into violations."""

_CONTENT = frozenset({Axis.FRAGMENTS, Axis.NOVELTY, Axis.CANARY})
"""Under a contract to truncate, missed needles and quick answers are what an honest truncation looks like."""

_OF_ONE_MISS = frozenset({Axis.RECALL, Axis.NOVELTY, Axis.REPLAY, Axis.LOAD, Axis.DUPLICATE, Axis.GARBLE})
"""Views that one and the same missed needle opens: together they confirm as one."""

_CONFIRMING_AXES = 2

JOINING_BITS = -math.log2(1e-6)
"""Evidence from which recall lost under load is a view of its own: one healthy run in a million gets there."""


def settle(evidence: Evidence, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the same findings in the same order, warnings raised to violations where another axis agrees.

    A violation is confirmed when two axes beside its own agree, when a decoded canary stands beside it, or when it
    is found on a confirmation probe: the immediate fresh re-probe of a first hit.
    """
    axes = _axes(evidence, findings)
    return tuple(_settled(evidence, finding, axes) for finding in findings)


def _axes(evidence: Evidence, findings: tuple[Finding, ...]) -> frozenset[Axis]:
    """Axes that say something is wrong. A missed needle counts when it is the decisive one and the LLM can recall."""
    axes = frozenset(axis for finding in findings if (axis := _axis(finding)) is not None)
    is_telling = evidence.history.is_recall_proven and is_decisive_missed(evidence)
    return axes if is_telling else axes - {Axis.RECALL}


def _axis(finding: Finding) -> Axis | None:
    """Return the axis on which a finding speaks against the target, if it does."""
    if finding.outcome.rank < Outcome.SUSPECT.rank and finding.reason is not Reason.RECALL_MISSED:
        return None
    axis = _AXIS_OF.get(finding.reason)
    if axis is Axis.LOAD and finding.evidence_bits < JOINING_BITS:
        return None
    return Axis.FRAGMENTS if axis is Axis.CANARY and finding.outcome is Outcome.SUSPECT else axis


def _settled(evidence: Evidence, finding: Finding, axes: frozenset[Axis]) -> Finding:
    if finding.outcome.rank < Outcome.SUSPECT.rank:
        return finding
    joining = _joining(evidence, finding, axes)
    is_violation = finding.outcome is Outcome.VIOLATION or bool(joining)
    if not is_violation:
        return finding
    message = finding.message
    if joining and finding.outcome is not Outcome.VIOLATION:
        agreeing = ", ".join(sorted(axis.value for axis in joining))
        message = f"{message} Agreeing evidence: {agreeing}."
    return dataclasses.replace(
        finding,
        outcome=Outcome.VIOLATION,
        message=message,
        is_confirmed=finding.is_confirmed
        or _independent(joining) >= _CONFIRMING_AXES
        or Axis.CANARY in joining
        or evidence.probe.role is Role.CONFIRMATION,
    )


def _joining(evidence: Evidence, finding: Finding, axes: frozenset[Axis]) -> frozenset[Axis]:
    joining = axes & _ESCALATED_BY.get(finding.reason, frozenset())
    if finding.reason is Reason.LOST_UNDER_LOAD and finding.evidence_bits < JOINING_BITS:
        return frozenset()
    is_status = _AXIS_OF.get(finding.reason) is Axis.STATUS
    if is_status and evidence.target.overlong is OverlongContract.TRUNCATE:
        return joining & _CONTENT
    return joining


def _independent(axes: frozenset[Axis]) -> int:
    """Count a missed needle, and what requires it, once."""
    return len(axes - _OF_ONE_MISS) + bool(axes & _OF_ONE_MISS)
