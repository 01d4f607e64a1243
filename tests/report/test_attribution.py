"""Attribution of sightings."""

import dataclasses

from prober.domain.reading import Tier
from prober.report.attribution import attributions, sentence
from tests.support.reports import DONOR_CANARY, STRANGER_CANARY, a_leak, a_probe_summary, a_report, a_sighting


def test_a_live_canary_is_named_with_tenant_request_part_and_certainty():
    """A finding says whose text, from which request, which part, and how sure."""
    (attribution,) = attributions(a_report(), a_leak())

    assert sentence(attribution) == (
        "text of tenant bravo from its request seed_and_probe/0001 (canary t0002-p00000004d), "
        "words 108 to 135 (counted modulo 18,432), 37 bits of evidence"
    )


def test_a_text_that_was_sent_again_is_named_by_its_first_request_and_says_so():
    """Which of them leaked cannot be told from the text; where it came from can."""
    sent = tuple(a_probe_summary(canary=str(canary)) for canary in (DONOR_CANARY, STRANGER_CANARY, DONOR_CANARY))
    (attribution,) = attributions(a_report(probes=sent), a_leak())

    assert attribution.times_sent == 2
    assert "from its request seed_and_probe/0001, the first of 2 with that text (canary" in sentence(attribution)


def test_a_canary_of_another_instance_is_named_by_number():
    """A canary that this run did not send is still attributed, by its numbers."""
    sighting = a_sighting(STRANGER_CANARY, is_live=False, first_block=None, last_block=None, tier=Tier.FRAGMENTS)
    (attribution,) = attributions(a_report(), a_leak(sightings=(sighting,)))

    text = sentence(attribution)

    assert "tenant number 900 (not in this configuration)" in text
    assert "a request of an earlier run or another instance" in text
    assert "words" not in text


def test_the_strongest_sighting_comes_first():
    """Readers see the surest attribution first."""
    weak = a_sighting(STRANGER_CANARY, evidence_bits=26.0)
    finding = dataclasses.replace(a_leak(), sightings=(weak, a_sighting()))

    assert [one.evidence_bits for one in attributions(a_report(), finding)] == [36.6, 26.0]
