"""Own and foreign canaries in answers."""

import dataclasses
import math
import random

import pytest

from prober.domain.canary import Canary
from prober.domain.reading import Tier
from prober.domain.target import TextForm
from prober.prompt.alphabet import WORDS
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.prompt.sightings import PAGE_BITS, foreign_and_own
from tests.support.canary_text import KEYRING, filler, noisy, prompt_of

OWN_CANARY, VICTIM_CANARY, PAST_CANARY = Canary.of(1, 0, 101), Canary.of(2, 0, 202), Canary.of(3, 0, 303)
OWN, VICTIM = prompt_of(OWN_CANARY), prompt_of(VICTIM_CANARY)
OWN_LINES = prompt_of(OWN_CANARY, form=TextForm.NUMBERED_LINES)
VICTIM_LINES = prompt_of(VICTIM_CANARY, form=TextForm.NUMBERED_LINES)


def live(*canaries: Canary) -> LiveIndex:
    index = LiveIndex(KEYRING)
    for canary in canaries:
        index.remember(prompt_of(canary), TextForm.WORD_STREAM)
    return index


LIVE = live(OWN_CANARY, VICTIM_CANARY)


def test_own_echo_is_own():
    """What a probe sent and got back is a positive control and accuses nobody."""
    own, foreign = foreign_and_own(OWN.text[100:400], OWN, KEYRING, LIVE)
    (sighting,) = own
    assert (sighting.tier, sighting.canary, sighting.is_live) == (Tier.CODE, OWN_CANARY, True)
    assert foreign == ()


def test_a_leak_names_tenant_probe_and_place():
    """Sixty characters of another probe's prompt are attributed, with enough evidence to page."""
    own, foreign = foreign_and_own("Sure: " + VICTIM.text[1000:1060] + " ok?", OWN, KEYRING, LIVE)
    (sighting,) = foreign
    assert own == ()
    assert (sighting.tier, sighting.canary, sighting.is_live) == (Tier.CODE, VICTIM_CANARY, True)
    assert sighting.first_block is not None
    assert 20 <= sighting.first_block <= sighting.last_block <= 24
    assert sighting.evidence_bits > PAGE_BITS


def test_text_of_an_earlier_run_is_attributed_by_key_alone():
    """A probe that this process never sent is named all the same, and marked as not live."""
    (sighting,) = foreign_and_own(filler(PAST_CANARY, [2]), OWN, KEYRING, LIVE)[1]
    assert (sighting.canary, sighting.is_live) == (PAST_CANARY, False)


def test_text_of_an_older_epoch_is_attributed():
    """After a rotation a late echo still names its probe and epoch."""
    rotated = KEYRING.rotate(bytes(32))
    (sighting,) = foreign_and_own(filler(PAST_CANARY, [2]), OWN, rotated, LiveIndex(rotated))[1]
    assert (sighting.canary, sighting.canary.epoch) == (PAST_CANARY, 0)


def test_short_text_of_a_live_probe_is_attributed():
    """Seven words suffice for a live probe, and are not enough for any other."""
    words = " ".join(VICTIM.text.split()[30:37])
    (sighting,) = foreign_and_own(words, OWN, KEYRING, LIVE)[1]
    assert (sighting.tier, sighting.canary, sighting.windows) == (Tier.LIVE, VICTIM_CANARY, 1)
    assert sighting.evidence_bits == pytest.approx(44 - math.log2(9 * 2))
    assert foreign_and_own(words, OWN, KEYRING, live(OWN_CANARY)) == ((), ())


def test_evidence_against_the_own_tenant_is_discounted():
    """A botched copy gets the own tenant's symbol right, so a live match of the same tenant weighs 11 bits less."""
    sibling = Canary.of(1, 0, 999)
    index = live(OWN_CANARY, sibling)
    (sighting,) = foreign_and_own(" ".join(prompt_of(sibling).text.split()[30:37]), OWN, KEYRING, index)[1]
    assert sighting.evidence_bits == pytest.approx(33 - math.log2(9 * 2))


def test_evidence_of_one_window():
    """One 11-word window weighs its tag less the number of places examined."""
    (sighting,) = foreign_and_own(" ".join(VICTIM.text.split()[30:41]), OWN, KEYRING, LIVE)[1]
    assert (sighting.windows, sighting.tier) == (1, Tier.CODE)
    assert sighting.evidence_bits == pytest.approx(44 - math.log2(9))


def test_evidence_of_a_long_stretch_does_not_fade():
    """In a long answer a stretch with two windows apart keeps its weight although more places were examined."""
    rng = random.Random(4)
    salad = " ".join(rng.choices(WORDS, k=20_000))
    (sighting,) = foreign_and_own(salad + " qq " + VICTIM.text[:300], OWN, KEYRING, live(OWN_CANARY))[1]
    assert sighting.evidence_bits > 90
    (single,) = foreign_and_own(salad + " qq " + " ".join(VICTIM.text.split()[:11]), OWN, KEYRING, live(OWN_CANARY))[1]
    assert single.evidence_bits == pytest.approx(44 - math.log2(9 * (20_000 - 10 + 1)), abs=0.01)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_evidence_of_line_codes(count: int):
    """One code weighs 28 bits; each further one must name the same probe and adds 72; repeats add nothing."""
    lines = VICTIM_LINES.text.splitlines()[:count]
    (sighting,) = foreign_and_own("\n".join(lines * 2), OWN_LINES, KEYRING, LIVE)[1]
    assert sighting.windows == 2 * count
    assert sighting.evidence_bits == pytest.approx(28 + 72 * (count - 1) - count * math.log2(2 * count))


def test_lines_echoed_are_own():
    """The own lines' codes are own, those of a twin text as well."""
    own, foreign = foreign_and_own(OWN_LINES.text[:500], OWN_LINES, KEYRING, LIVE)
    assert [s.canary for s in own] == [OWN_CANARY]
    assert foreign == ()
    twin = dataclasses.replace(OWN_LINES, canary=PAST_CANARY)
    assert foreign_and_own(OWN_LINES.text[:500], twin, KEYRING, LIVE) == ((), ())


def test_shared_text_accuses_nobody():
    """A prompt that holds another probe's text on purpose may see it again, whole or in pieces."""
    both = dataclasses.replace(OWN, text=OWN.text + VICTIM.text)
    for answer in (VICTIM.text, VICTIM.text[200:300], " ".join(VICTIM.text.split()[30:37])):
        assert foreign_and_own(answer, both, KEYRING, LIVE)[1] == ()


def test_shared_text_does_not_hide_the_rest():
    """Of a stretch that is shared in part only the foreign windows count."""
    words = VICTIM.text.split()
    shared = dataclasses.replace(OWN, text=OWN.text + " ".join(words[:300]))
    (sighting,) = foreign_and_own(" ".join(words[:320]), shared, KEYRING, LIVE)[1]
    assert sighting.windows == 20


def test_two_victims_are_two_sightings():
    """Each probe is named once, in order, with all of its windows."""
    text = VICTIM.text[:200] + " and " + filler(PAST_CANARY, [4])[:200] + " and " + VICTIM.text[800:900]
    foreign = foreign_and_own(text, OWN, KEYRING, LIVE)[1]
    assert [s.canary for s in foreign] == [VICTIM_CANARY, PAST_CANARY]
    assert foreign[0].windows > foreign[1].windows


def test_codes_and_live_windows_of_one_canary_add_up():
    """Short pieces beside a whole window belong to the same sighting of the stronger tier."""
    words = VICTIM.text.split()
    text = " ".join(words[30:41]) + " unquestionably " + " ".join(words[90:97])
    (sighting,) = foreign_and_own(text, OWN, KEYRING, LIVE)[1]
    assert (sighting.tier, sighting.windows) == (Tier.CODE, 2)


def test_a_noisy_echo_accuses_nobody():
    """Errors in a copy of the own text never look like somebody else's, even with hundreds of live siblings."""
    index = live(OWN_CANARY, *(Canary.of(1, 0, serial) for serial in range(1000, 1300)))
    rng = random.Random(8)
    for rate in (0.05, 0.2):
        text = " ".join(noisy(OWN.text.split() * 20, rate, "substitution", rng))
        own, foreign = foreign_and_own(text, OWN, KEYRING, index)
        assert [s.canary for s in own] == [OWN_CANARY]
        assert foreign == ()


@pytest.mark.parametrize("text", ["", "I cannot help with that.", "\ud800", "4KME-HS86-ZYKZ-2K94", "able base"])
def test_answers_without_canaries(text: str):
    """Anything else is no sighting."""
    assert foreign_and_own(text, OWN, KEYRING, LIVE) == ((), ())


def test_a_foreign_key_sees_nothing():
    """Another lineage's prober is not ours to read."""
    other = Keyring.create(bytes([3]) * 32)
    assert foreign_and_own(VICTIM.text, OWN, other, LiveIndex(other)) == ((), ())
