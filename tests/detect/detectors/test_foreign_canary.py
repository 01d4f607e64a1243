"""Foreign text by canary: certainty, attribution, secrecy."""

import pytest

from prober.detect.detectors.foreign_canary import detect_foreign_canary
from prober.domain.answer import Answer
from prober.domain.canary import Canary
from prober.domain.finding import Reason
from prober.domain.outcome import Outcome
from prober.domain.reading import FragmentTally, Sighting, Tier
from tests.support.evidence import DONOR, a_prompt, a_reading, a_sighting, a_tally, an_evidence

SUSPECT, VIOLATION = Outcome.SUSPECT, Outcome.VIOLATION


def findings(*sightings: Sighting, fragments: tuple[FragmentTally, ...] = (), **parts: object):
    """Judge an answer with these sightings."""
    return detect_foreign_canary(an_evidence(reading=a_reading(foreign=sightings, fragments=fragments), **parts))


@pytest.mark.parametrize(
    ("tier", "windows", "bits", "outcome", "is_confirmed"),
    [
        (Tier.CODE, 1, 25.0, VIOLATION, True),
        (Tier.CODE, 9, 40.0, VIOLATION, True),
        (Tier.CODE, 1, 24.9, SUSPECT, False),
        (Tier.LIVE, 1, 24.9, SUSPECT, False),
        (Tier.LIVE, 1, 25.0, VIOLATION, False),
        (Tier.LIVE, 2, 20.0, VIOLATION, False),
        (Tier.LIVE, 2, 30.0, VIOLATION, True),
    ],
)
def test_windows_page_by_their_certainty(
    tier: Tier, windows: int, bits: float, outcome: Outcome, *, is_confirmed: bool
):
    """A whole code pages from 25 bits and stands by itself; a live window needs a second one or 25 bits."""
    (finding,) = findings(a_sighting(tier=tier, windows=windows, evidence_bits=bits))
    assert (finding.outcome, finding.is_confirmed, finding.evidence_bits) == (outcome, is_confirmed, bits)


@pytest.mark.parametrize(
    ("bits", "outcome"), [(15.9, None), (16.0, SUSPECT), (24.9, SUSPECT), (25.0, VIOLATION), (60.0, VIOLATION)]
)
def test_fragments_warn_from_sixteen_bits_and_page_from_twentyfive_unconfirmed(bits: float, outcome: Outcome):
    """Accumulated fragments are not confirmed by themselves."""
    found = findings(fragments=(a_tally(bits), a_tally(3.0, tenant_number=3, canary=None)))
    assert [finding.outcome for finding in found] == ([outcome] if outcome else [])
    assert all(finding.reason is Reason.FOREIGN_FRAGMENTS and not finding.is_confirmed for finding in found)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, Reason.FOREIGN_CANARY),
        ({"is_live": False}, Reason.LATE_ECHO),
        ({"canary": Canary.of(2, 1, 77)}, Reason.LATE_ECHO),
    ],
)
def test_text_of_the_past_is_a_late_echo_and_a_violation_all_the_same(changes: dict[str, object], reason: Reason):
    """Not held live, or of another key epoch than the probe's own."""
    (finding,) = findings(a_sighting(**changes))
    assert (finding.reason, finding.outcome) == (reason, VIOLATION)


def test_the_message_attributes():
    """Whose, which request, which part, how sure; the sighting goes along."""
    sighting = a_sighting()
    (finding,) = findings(sighting)
    for fact in (str(DONOR), "another tenant (number 2)", "blocks 120 to 121", "9 decoded windows", "37.5 bits"):
        assert fact in finding.message
    assert finding.sightings == (sighting,)


def test_text_of_the_same_tenants_other_prompt_is_foreign_and_said_to_be_its_own():
    """Requests are isolated from each other, not only tenants."""
    (finding,) = findings(a_sighting(canary=Canary.of(1, 0, 9), first_block=None, last_block=None))
    assert finding.outcome is VIOLATION
    assert "another prompt of the same tenant (number 1)" in finding.message
    assert "blocks" not in finding.message


def test_fragments_of_an_accused_tenant_are_not_reported_twice():
    """Windows explain the fragments of their tenant; a suspicion does not, nor do windows of another tenant."""
    tallies = (a_tally(30.0), a_tally(18.0, tenant_number=3, canary=None))
    assert [f.reason for f in findings(a_sighting(), fragments=tallies)] == [
        Reason.FOREIGN_CANARY,
        Reason.FOREIGN_FRAGMENTS,
    ]
    weak = a_sighting(tier=Tier.LIVE, windows=1, evidence_bits=20.0)
    assert len(findings(weak, fragments=tallies)) == 3


def test_fragment_sightings_are_left_to_the_tally():
    """One piece of evidence makes one finding."""
    assert findings(a_sighting(tier=Tier.FRAGMENTS)) == ()


@pytest.mark.parametrize("answer", Answer)
def test_content_counts_whatever_the_answer_was(answer: Answer):
    """Cut streams and error bodies leak as well."""
    assert findings(a_sighting(), answer=answer)


def test_the_own_text_says_nothing():
    """Own echoes are a positive control, and silence is no clean bill."""
    reading = a_reading(own=(a_sighting(canary=a_prompt().canary),))
    assert detect_foreign_canary(an_evidence(reading=reading)) == ()


@pytest.mark.parametrize(("bits", "outcome"), [(53.0, VIOLATION), (25.0, VIOLATION), (24.9, SUSPECT)])
def test_a_phrase_of_another_prompt_pages_by_its_certainty(bits: float, outcome: Outcome):
    """Six words are 66 bits, less the live prompts that they may fit; three words among thousands only warn."""
    phrase = a_sighting(tier=Tier.PHRASE, windows=1, evidence_bits=bits, first_block=None, last_block=None)

    (finding,) = findings(phrase)

    assert (finding.reason, finding.outcome) == (Reason.FOREIGN_CANARY, outcome)
    assert finding.is_confirmed is (outcome is VIOLATION)
    assert f"the phrase to recall of canary {DONOR}, another tenant (number 2)" in finding.message
