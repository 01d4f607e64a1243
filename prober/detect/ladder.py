"""Join what the axes say about one probe: two of them agreeing page, where each alone only warns.

The joined rates of false pages are products of the axes' own: none is joined with an axis it implies.
"""

import dataclasses
import enum

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
}

_OVER_LIMIT = frozenset({Axis.RECALL, Axis.TIMING, Axis.FRAGMENTS, Axis.NOVELTY, Axis.CANARY})

_ESCALATED_BY = {
    Reason.SERVED_OVER_LIMIT: _OVER_LIMIT,
    Reason.SERVED_OVER_CONTEXT: _OVER_LIMIT,
    # Novelty requires a missed END needle already, so that recall and novelty never confirm each other.
    Reason.FOREIGN_TEXT: frozenset({Axis.STATUS, Axis.TIMING}),
    Reason.FOREIGN_FRAGMENTS: frozenset({Axis.STATUS, Axis.TIMING}),
    Reason.FOREIGN_CANARY: frozenset({Axis.STATUS, Axis.TIMING}),
    Reason.LATE_ECHO: frozenset({Axis.STATUS, Axis.TIMING}),
    Reason.RECALL_COLLAPSED: frozenset({Axis.STATUS, Axis.TIMING, Axis.FRAGMENTS, Axis.USAGE}),
    # Where the pool is unknown an answer may be due: then content and timing must agree.
    Reason.PREFILL_TOO_FAST: frozenset({Axis.RECALL, Axis.FRAGMENTS}),
}
"""Warnings, and the axes of which any one turns them into violations."""

_CONTENT = frozenset({Axis.FRAGMENTS, Axis.NOVELTY, Axis.CANARY})
"""Under a contract to truncate, missed needles and quick answers are what an honest truncation looks like."""

_CONFIRMING_AXES = 2


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
        or len(_independent(joining)) >= _CONFIRMING_AXES
        or Axis.CANARY in joining
        or evidence.probe.role is Role.CONFIRMATION,
    )


def _joining(evidence: Evidence, finding: Finding, axes: frozenset[Axis]) -> frozenset[Axis]:
    joining = axes & _ESCALATED_BY.get(finding.reason, frozenset())
    is_status = _AXIS_OF.get(finding.reason) is Axis.STATUS
    if is_status and evidence.target.overlong is OverlongContract.TRUNCATE:
        return joining & _CONTENT
    return joining


def _independent(axes: frozenset[Axis]) -> frozenset[Axis]:
    """Count a missed needle and the novelty that requires it once."""
    return axes - {Axis.RECALL} if Axis.NOVELTY in axes else axes
