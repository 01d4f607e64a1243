"""What a finding looks like from outside."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.detect.symptoms import Symptom, symptom_of
from prober.domain.evidence import Evidence, History
from prober.domain.finding import Finding, Reason
from prober.domain.options import RequestOptions
from prober.domain.outcome import Outcome
from prober.domain.reading import Recall, Tier
from tests.support.evidence import (
    ALL_FOUND,
    ALL_MISSED,
    END,
    END_MISSED,
    HEAD,
    a_finding,
    a_probe,
    a_reading,
    a_sighting,
    an_evidence,
    evidences,
)

SUSPECT, INCONCLUSIVE = Outcome.SUSPECT, Outcome.INCONCLUSIVE
ONLY_END = Recall(asked=(HEAD, END), found=(END,))
CANARY = a_finding(Reason.FOREIGN_CANARY, SUSPECT, sightings=(a_sighting(),))
PHRASE = a_finding(Reason.LATE_ECHO, SUSPECT, sightings=(a_sighting(tier=Tier.PHRASE),))
FRAGMENTS = a_finding(Reason.FOREIGN_FRAGMENTS, SUSPECT)
STRAY = a_finding(Reason.FOREIGN_FRAGMENTS, SUSPECT, detector="tokens")
NOVEL = a_finding(Reason.FOREIGN_TEXT, SUSPECT)
GARBLED = a_finding(Reason.GARBLED, SUSPECT)
MISSED = a_finding(Reason.RECALL_COLLAPSED, SUSPECT)


@pytest.mark.parametrize(
    ("finding", "recall", "symptom"),
    [
        (CANARY, ALL_MISSED, Symptom.SWAPPED),
        (CANARY, ALL_FOUND, Symptom.MIXED),
        (CANARY, END_MISSED, Symptom.MIXED),
        (PHRASE, ALL_MISSED, Symptom.SWAPPED),
        (NOVEL, ALL_MISSED, Symptom.SWAPPED),
        (FRAGMENTS, ALL_MISSED, Symptom.MIXED),
        (STRAY, ALL_MISSED, Symptom.STRAY),
        (MISSED, ALL_MISSED, Symptom.LOST),
        (MISSED, ONLY_END, Symptom.HEADLESS),
        (a_finding(Reason.REPLAY_DIVERGED, SUSPECT), ALL_MISSED, Symptom.LOST),
        (a_finding(Reason.LOST_UNDER_LOAD, SUSPECT), ALL_MISSED, Symptom.LOST),
        (a_finding(Reason.WEDGED, SUSPECT), Recall(), Symptom.STUCK),
        (a_finding(Reason.SERVED, Outcome.CLEAN), ALL_FOUND, None),
        (a_finding(Reason.BUSY, INCONCLUSIVE), Recall(), None),
    ],
)
def test_a_finding_has_the_face_of_its_answer(finding: Finding, recall: Recall, symptom: Symptom | None):
    """Whole answers of others, their text in pieces, single tokens, or nothing but what is missing."""
    assert symptom_of(an_evidence(reading=a_reading(recall=recall)), finding, (finding,)) is symptom


@pytest.mark.parametrize(
    ("others", "recall", "symptom"),
    [
        ((CANARY,), ALL_MISSED, Symptom.SWAPPED),
        ((CANARY,), END_MISSED, Symptom.MIXED),
        ((GARBLED,), ALL_MISSED, Symptom.GARBLED),
        ((GARBLED, CANARY), ALL_MISSED, Symptom.SWAPPED),
        ((a_finding(Reason.GARBLED, Outcome.CLEAN),), ALL_MISSED, Symptom.LOST),
        ((GARBLED, NOVEL), ALL_MISSED, Symptom.GARBLED),
        ((NOVEL,), ALL_MISSED, Symptom.SWAPPED),
    ],
)
def test_what_stands_beside_a_missing_needle_says_why(others: tuple[Finding, ...], recall: Recall, symptom: Symptom):
    """Foreign text first, then corruption."""
    assert symptom_of(an_evidence(reading=a_reading(recall=recall)), MISSED, (MISSED, *others)) is symptom


def test_novel_words_of_a_garbled_answer_are_no_text_of_anyones():
    """They are novel because they are none."""
    evidence = an_evidence(reading=a_reading(recall=ALL_MISSED))

    assert symptom_of(evidence, NOVEL, (NOVEL, GARBLED)) is Symptom.GARBLED
    assert symptom_of(evidence, CANARY, (CANARY, GARBLED)) is Symptom.SWAPPED


@pytest.mark.parametrize(
    ("own", "options", "symptom"),
    [
        ((), RequestOptions(choices=("a",)), Symptom.SWAPPED),
        ((a_sighting(),), RequestOptions(choices=("a",)), Symptom.MIXED),
    ],
)
def test_where_no_needle_is_asked_for_the_own_text_decides(own: tuple, options: RequestOptions, symptom: Symptom):
    """A constrained answer has no needle to give."""
    evidence = an_evidence(probe=a_probe(options=options), reading=a_reading(recall=ALL_MISSED, own=own))

    assert symptom_of(evidence, CANARY, (CANARY,)) is symptom


@pytest.mark.parametrize(("history", "symptom"), [(History(), None), (History(is_recall_proven=True), Symptom.LOST)])
def test_a_miss_that_was_not_judged_points_to_nothing_before_the_control_is_passed(
    history: History, symptom: Symptom | None
):
    """An LLM that cannot do the task shows no fault by it."""
    finding = a_finding(Reason.RECALL_MISSED, INCONCLUSIVE)
    evidence = an_evidence(reading=a_reading(recall=ALL_MISSED), history=history)

    assert symptom_of(evidence, finding, (finding,)) is symptom


@pytest.mark.no_coverage
@settings(max_examples=200, derandomize=True, deadline=None)
@given(evidence=evidences(), reason=st.sampled_from(Reason), outcome=st.sampled_from(Outcome))
def test_symptoms_are_total(evidence: Evidence, reason: Reason, outcome: Outcome):
    """Any finding about any answer has a symptom or none."""
    finding = a_finding(reason, outcome)

    assert symptom_of(evidence, finding, (finding,)) in {None, *Symptom}
