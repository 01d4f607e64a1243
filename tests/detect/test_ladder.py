"""Joined axes: which pairs page, and which never confirm each other."""

from collections.abc import Sequence

import pytest

from prober.detect.detectors import DETECTORS
from prober.detect.ladder import JOINING_BITS, settle
from prober.domain.evidence import Evidence, History
from prober.domain.finding import Finding, Reason
from prober.domain.observation import Timeline, Usage
from prober.domain.outcome import Outcome
from prober.domain.probe import Expectation, Role
from prober.domain.target import OverlongContract
from tests.support.evidence import (
    ALL_MISSED,
    END_MISSED,
    OVER,
    a_finding,
    a_probe,
    a_reading,
    a_sighting,
    a_tally,
    a_target,
    an_evidence,
    an_observation,
    over_limit,
)

CLEAN, INCONCLUSIVE, SUSPECT, VIOLATION = Outcome
OVER_LIMIT = a_finding(Reason.SERVED_OVER_LIMIT, SUSPECT)
OVER_CONTEXT = a_finding(Reason.SERVED_OVER_CONTEXT, SUSPECT)
MISSED = a_finding(Reason.RECALL_MISSED, INCONCLUSIVE)
COLLAPSED = a_finding(Reason.RECALL_COLLAPSED, SUSPECT)
FAST = a_finding(Reason.PREFILL_TOO_FAST, SUSPECT)
FRAGMENTS = a_finding(Reason.FOREIGN_FRAGMENTS, SUSPECT, evidence_bits=18.0)
NOVEL = a_finding(Reason.FOREIGN_TEXT, SUSPECT)
COUNT = a_finding(Reason.USAGE_MISMATCH, SUSPECT)
CACHE = a_finding(Reason.CACHE_HIT_ON_NEW_TEXT, SUSPECT)
CANARY = a_finding(Reason.FOREIGN_CANARY, VIOLATION, is_confirmed=True, evidence_bits=40.0)
WEAK_CANARY = a_finding(Reason.FOREIGN_CANARY, SUSPECT, evidence_bits=20.0)
REFUSED = a_finding(Reason.REFUSED_BY_LLM, INCONCLUSIVE)

MISSING = an_evidence(reading=a_reading(recall=ALL_MISSED))


def settled(*findings: Finding, evidence: Evidence = MISSING):
    """Settle, as reason -> (outcome, confirmed)."""
    return {f.reason: (f.outcome, f.is_confirmed) for f in settle(evidence, findings)}


@pytest.mark.parametrize(
    ("warning", "others", "outcome", "is_confirmed"),
    [
        (OVER_LIMIT, (), SUSPECT, False),
        (OVER_LIMIT, (MISSED,), VIOLATION, False),
        (OVER_LIMIT, (FAST,), VIOLATION, False),
        (OVER_LIMIT, (FRAGMENTS,), VIOLATION, False),
        (OVER_LIMIT, (WEAK_CANARY,), VIOLATION, False),
        (OVER_LIMIT, (MISSED, FAST), VIOLATION, True),
        (OVER_LIMIT, (MISSED, NOVEL), VIOLATION, False),
        (OVER_LIMIT, (NOVEL, FRAGMENTS), VIOLATION, True),
        (OVER_LIMIT, (CANARY,), VIOLATION, True),
        (OVER_LIMIT, (REFUSED,), SUSPECT, False),
        (OVER_LIMIT, (COUNT, CACHE), SUSPECT, False),
        (OVER_CONTEXT, (MISSED,), VIOLATION, False),
        (NOVEL, (MISSED,), SUSPECT, False),
        (NOVEL, (FAST,), VIOLATION, False),
        (NOVEL, (OVER_LIMIT,), VIOLATION, False),
        (NOVEL, (COLLAPSED,), SUSPECT, False),
        (NOVEL, (OVER_LIMIT, FAST), VIOLATION, True),
        (COLLAPSED, (), SUSPECT, False),
        (COLLAPSED, (NOVEL,), SUSPECT, False),
        (COLLAPSED, (COUNT,), VIOLATION, False),
        (COLLAPSED, (CACHE,), VIOLATION, False),
        (COLLAPSED, (FAST,), VIOLATION, False),
        (COLLAPSED, (FRAGMENTS,), VIOLATION, False),
        (FRAGMENTS, (MISSED,), SUSPECT, False),
        (FRAGMENTS, (OVER_LIMIT,), VIOLATION, False),
        (FRAGMENTS, (FAST, OVER_LIMIT), VIOLATION, True),
        (WEAK_CANARY, (FAST,), VIOLATION, False),
        (FAST, (), SUSPECT, False),
        (FAST, (MISSED,), VIOLATION, False),
        (FAST, (FRAGMENTS,), VIOLATION, False),
        (FAST, (COUNT,), SUSPECT, False),
        (COUNT, (FAST, OVER_LIMIT, MISSED), SUSPECT, False),
    ],
)
def test_a_warning_is_raised_by_the_axes_that_agree_with_it(
    warning: Finding, others: Sequence[Finding], outcome: Outcome, *, is_confirmed: bool
):
    """Two independent axes page; two beside its own, or a decoded canary, confirm."""
    assert settled(warning, *others)[warning.reason] == (outcome, is_confirmed)


def test_a_missed_needle_counts_only_when_the_decisive_one_is_missed():
    """Other needles are missed by honest LLMs too often."""
    assert settled(OVER_LIMIT, MISSED, evidence=an_evidence())[Reason.SERVED_OVER_LIMIT] == (SUSPECT, False)


@pytest.mark.parametrize(
    ("others", "outcome"),
    [((MISSED, FAST), SUSPECT), ((FRAGMENTS,), VIOLATION), ((NOVEL,), VIOLATION), ((CANARY,), VIOLATION)],
)
@pytest.mark.parametrize("warning", [OVER_LIMIT, OVER_CONTEXT])
def test_where_truncation_is_promised_content_decides(warning: Finding, others: Sequence[Finding], outcome: Outcome):
    """An honest truncation loses the END needle and is quick; it holds no foreign text."""
    evidence = an_evidence(target=a_target(overlong=OverlongContract.TRUNCATE), reading=a_reading(recall=ALL_MISSED))
    assert settled(warning, *others, evidence=evidence)[warning.reason][0] is outcome


def test_a_violation_on_a_confirmation_probe_is_confirmed():
    """Found again on an immediate fresh re-probe; a warning there stays a warning."""
    again = an_evidence(probe=a_probe(role=Role.CONFIRMATION), reading=a_reading(recall=ALL_MISSED))
    assert settled(OVER_LIMIT, MISSED, evidence=again)[Reason.SERVED_OVER_LIMIT] == (VIOLATION, True)
    assert settled(OVER_LIMIT, evidence=again)[Reason.SERVED_OVER_LIMIT] == (SUSPECT, False)


def test_the_message_names_the_agreeing_axes_and_quiet_findings_stay_as_they_are():
    """Evidence that stands up says what it stands on."""
    clean = a_finding(Reason.USAGE_AS_PREDICTED, CLEAN)
    raised, missed, untouched = settle(MISSING, (OVER_LIMIT, MISSED, clean))
    assert raised.message == "It was so. Agreeing evidence: recall."
    assert (missed, untouched) == (MISSED, clean)


def examined(evidence: Evidence):
    """Run the whole detect layer over one probe."""
    return settle(evidence, tuple(finding for detector in DETECTORS for finding in detector(evidence)))


INCIDENT = over_limit(
    observation=an_observation(timeline=Timeline(first_token=0.6), usage=Usage(prompt_tokens=OVER)),
    history=History(anchors={200_000: (20.0, 21.0, 22.0)}, quickest_first_token=0.4, is_recall_proven=True),
    reading=a_reading(recall=ALL_MISSED, words=40, novel_words=30, longest_novel_run=9),
)


def test_the_incident_is_a_confirmed_violation_on_its_first_probe_without_any_canary():
    """200 instead of 400, exact prompt tokens, a coherent answer, too fast: two axes beside the status."""
    violations = [finding for finding in examined(INCIDENT) if finding.outcome is VIOLATION]
    assert Reason.SERVED_OVER_LIMIT in {finding.reason for finding in violations}
    assert any(finding.is_confirmed for finding in violations)


def test_the_incident_behind_an_unknown_pool_is_a_violation_by_content_and_timing():
    """An answer may be due there; one that is too fast and ignores its prompt is not."""
    probe = a_probe(expectation=Expectation.EITHER)
    unknown = an_evidence(
        target=a_target(prefill_pool_tokens=None),
        probe=probe,
        planned=OVER,
        observation=INCIDENT.observation,
        history=INCIDENT.history,
        reading=INCIDENT.reading,
    )
    assert {f.reason for f in examined(unknown) if f.outcome is VIOLATION} == {Reason.PREFILL_TOO_FAST}


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"reading": a_reading(foreign=(a_sighting(),))}, Reason.FOREIGN_CANARY),
        ({"reading": a_reading(fragments=(a_tally(18.0),))}, Reason.FOREIGN_FRAGMENTS),
        ({"reading": a_reading(recall=END_MISSED)}, Reason.SERVED_OVER_LIMIT),
    ],
)
def test_any_content_evidence_makes_a_violation_of_an_over_limit_answer(parts: dict[str, object], reason: Reason):
    """Auto-truncation bugs answer at normal speed with full counts: content alone tells."""
    assert reason in {finding.reason for finding in examined(over_limit(**parts)) if finding.outcome is VIOLATION}


DUPLICATE_ID = a_finding(Reason.DUPLICATE_RESPONSE_ID, SUSPECT)
NEAR = a_finding(Reason.NEAR_DUPLICATE_ANSWER, SUSPECT)
DIVERGED = a_finding(Reason.REPLAY_DIVERGED, SUSPECT)
GARBLED = a_finding(Reason.GARBLED, SUSPECT)
INVALID = a_finding(Reason.SERVED_INVALID, SUSPECT)
EMPTY = a_finding(Reason.EMPTY_ANSWER, SUSPECT)
LOADED = a_finding(Reason.LOST_UNDER_LOAD, SUSPECT, evidence_bits=JOINING_BITS)
WEAKLY_LOADED = a_finding(Reason.LOST_UNDER_LOAD, SUSPECT, evidence_bits=JOINING_BITS - 0.1)
OTHERS_ALONE = [
    a_finding(reason, SUSPECT)
    for reason in (
        Reason.TOKENS_DOUBLED,
        Reason.DRIFTED,
        Reason.COHORT_DIFFERS,
        Reason.STREAM_BROKEN,
        Reason.CACHE_SHARED,
        Reason.VOCABULARY_COLLAPSED,
        Reason.WEDGED,
    )
]


@pytest.mark.parametrize(
    ("warning", "others", "outcome", "is_confirmed"),
    [
        (DUPLICATE_ID, (), SUSPECT, False),
        (DUPLICATE_ID, (NEAR,), VIOLATION, False),
        (DUPLICATE_ID, (FRAGMENTS,), VIOLATION, False),
        (DUPLICATE_ID, (DIVERGED, NOVEL), VIOLATION, False),
        (DUPLICATE_ID, (MISSED,), SUSPECT, False),
        (NEAR, (), SUSPECT, False),
        (NEAR, (DUPLICATE_ID,), VIOLATION, False),
        (NEAR, (DUPLICATE_ID, FAST), VIOLATION, True),
        (NEAR, (MISSED, DIVERGED, NOVEL, GARBLED), SUSPECT, False),
        (DIVERGED, (FRAGMENTS,), VIOLATION, False),
        (DIVERGED, (MISSED, NOVEL, NEAR, LOADED, GARBLED), SUSPECT, False),
        (FRAGMENTS, (DIVERGED,), VIOLATION, False),
        (FRAGMENTS, (LOADED,), VIOLATION, False),
        (FRAGMENTS, (WEAKLY_LOADED,), SUSPECT, False),
        (FRAGMENTS, (LOADED, DIVERGED), VIOLATION, False),
        (FRAGMENTS, (LOADED, DUPLICATE_ID), VIOLATION, True),
        (LOADED, (FRAGMENTS,), VIOLATION, False),
        (LOADED, (CANARY,), VIOLATION, True),
        (WEAKLY_LOADED, (FRAGMENTS,), SUSPECT, False),
        (LOADED, (MISSED, COLLAPSED), SUSPECT, False),
        (INVALID, (EMPTY,), VIOLATION, False),
        (INVALID, (CANARY,), VIOLATION, True),
        (INVALID, (MISSED, GARBLED), SUSPECT, False),
        (EMPTY, (INVALID,), SUSPECT, False),
        (OVER_LIMIT, (GARBLED,), VIOLATION, False),
        (OVER_LIMIT, (GARBLED, NEAR, DIVERGED), VIOLATION, False),
        (FAST, (DUPLICATE_ID,), VIOLATION, False),
        (GARBLED, (FAST, DUPLICATE_ID, OVER_LIMIT, CANARY), SUSPECT, False),
        *((other, (CANARY, FAST, DUPLICATE_ID, NEAR, FRAGMENTS), SUSPECT, False) for other in OTHERS_ALONE),
    ],
)
def test_comparisons_join_views_that_do_not_depend_on_them(
    warning: Finding, others: Sequence[Finding], outcome: Outcome, *, is_confirmed: bool
):
    """What one missed needle opens (replay, duplicate, load, garble, novelty) confirms as one view, never itself."""
    assert settled(warning, *others)[warning.reason] == (outcome, is_confirmed)
