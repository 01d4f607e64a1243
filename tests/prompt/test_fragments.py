"""Evidence from scraps."""

import inspect
import pathlib
import random
import re

import pytest

from prober.domain.canary import Canary
from prober.domain.prompt import Prompt
from prober.domain.target import TextForm
from prober.prompt import wording
from prober.prompt.alphabet import WORDS
from prober.prompt.fragments import tally
from prober.prompt.keyring import Keyring
from prober.prompt.live import LiveIndex
from prober.prompt.numbered_lines import slice_of_words
from prober.prompt.sightings import PAGE_BITS
from tests.support.canary_text import KEYRING, noisy, prompt_of

STREAM, LINES = TextForm.WORD_STREAM, TextForm.NUMBERED_LINES
OWN_CANARY, VICTIM_CANARY = Canary.of(1, 0, 101), Canary.of(2, 0, 202)


def setup(form: TextForm, *victims: Prompt, own_lines: int = 40) -> tuple[Prompt, LiveIndex]:
    own = prompt_of(OWN_CANARY, own_lines, form=form)
    index = LiveIndex(KEYRING)
    for prompt in (own, *victims):
        index.remember(prompt, form)
    return own, index


VICTIM_LINES = prompt_of(VICTIM_CANARY, 300, form=LINES)
OWN_LINES, LIVE_LINES = setup(LINES, VICTIM_LINES)
VICTIM_STREAM = prompt_of(VICTIM_CANARY, 300)
OWN_STREAM, LIVE_STREAM = setup(STREAM, VICTIM_STREAM)


def test_two_groups_in_order_page():
    """Two neighbouring groups of a code, as a real leak showed them, are enough to page, in any case."""
    code = re.search(r"\[ref (\w+)-(\w*\d\w*)-(\w*\d\w*)-", VICTIM_LINES.text)
    assert code
    for text in (f"of the -{code[2]}-{code[3]}-XB-XB", f"{code[2]} {code[3]}".lower(), f"{code[2]}{code[3]}"):
        (found,) = tally(text, OWN_LINES, LIVE_LINES)
        assert (found.tenant_number, found.canary, found.groups) == (2, VICTIM_CANARY, 2)
        assert found.evidence_bits >= PAGE_BITS


def test_vocabulary_of_a_victim_adds_up():
    """A dozen different words that only one tenant's lines use name the tenant, though not the probe."""
    vocabulary = [w for w, s in zip(WORDS, slice_of_words(KEYRING), strict=True) if s == 2]
    rare = random.Random(1).sample(vocabulary, 14)
    (found,) = tally(", then ".join(rare), OWN_LINES, LIVE_LINES)
    assert (found.tenant_number, found.canary, found.groups, found.pairs) == (2, None, 0, 0)
    assert found.exclusive_words >= 12
    assert found.evidence_bits > 15
    few = tally(", then ".join(rare[:3]), OWN_LINES, LIVE_LINES)
    assert few[0].evidence_bits < PAGE_BITS / 2


def test_pairs_of_a_word_stream_add_up():
    """Pairs of a victim's words, torn apart so that no window is left, name the probe."""
    words = VICTIM_STREAM.text.split()
    text = " qqq ".join(f"{words[i]} {words[i + 1]}" for i in range(0, 60, 20))
    (found,) = tally(text, OWN_STREAM, LIVE_STREAM)
    assert (found.canary, found.pairs, found.groups, found.exclusive_words) == (VICTIM_CANARY, 3, 0, 0)
    assert found.evidence_bits >= PAGE_BITS


def test_pairs_of_a_dense_donor_weigh_less():
    """The longer the donor, the likelier a pair is in it by chance, and the less it says."""
    long = prompt_of(VICTIM_CANARY, 20_000)
    own, index = setup(STREAM, long)
    words = long.text.split()
    text = " qqq ".join(f"{words[i]} {words[i + 1]}" for i in range(0, 60, 20))
    (found,) = tally(text, own, index)
    assert found.pairs == 3
    assert found.evidence_bits < 15


def test_a_pair_after_a_pair_weighs_less_than_one_elsewhere():
    """A matched pair that goes on from a matched one may stem from the same chance place and is discounted."""
    words = VICTIM_STREAM.text.split()
    chained = tally(" ".join(words[10:14]), OWN_STREAM, LIVE_STREAM)[0]
    apart = tally(" qqq ".join(f"{words[i]} {words[i + 1]}" for i in (10, 30, 50)), OWN_STREAM, LIVE_STREAM)[0]
    assert chained.pairs == apart.pairs == 3
    assert chained.evidence_bits < apart.evidence_bits


@pytest.mark.parametrize("form", list(TextForm))
def test_own_text_counts_nothing(form: TextForm):
    """An echo of the own prompt, and a prompt that shares the victim's text, give no evidence."""
    own, index = (OWN_LINES, LIVE_LINES) if form is LINES else (OWN_STREAM, LIVE_STREAM)
    assert tally(own.text[:400], own, index) == ()
    victim = VICTIM_LINES if form is LINES else VICTIM_STREAM
    twin = prompt_of(Canary.of(4, 0, 4), form=form)
    shared = Prompt(
        canary=twin.canary,
        text=twin.text + victim.text,
        needles=(),
        filler_words=0,
        planned_tokens=None,
        token_tolerance=2,
    )
    assert all(found.canary != VICTIM_CANARY for found in tally(victim.text[:400], shared, index))


def test_the_fixed_wording_counts_nothing():
    """The instruction lines stand in every prompt and accuse nobody."""
    own, index = setup(STREAM)
    worded = prompt_of(VICTIM_CANARY)
    text = worded.text + wording.INSTRUCTION_LINE
    index.remember(
        Prompt(canary=VICTIM_CANARY, text=text, needles=(), filler_words=0, planned_tokens=None, token_tolerance=2),
        STREAM,
    )
    assert tally(wording.INSTRUCTION_LINE, own, index) == ()


@pytest.mark.parametrize("text", ["", "I am sorry, I cannot do it.", "\ud800 \u200b", "2026-11-30"])
def test_other_answers_give_no_evidence(text: str):
    """Answers without scraps give none."""
    assert tally(text, OWN_LINES, LIVE_LINES) == ()


def test_nobody_to_compare_with():
    """Alone, a probe accuses nobody."""
    own, index = setup(LINES)
    assert tally(VICTIM_LINES.text, own, index) == ()


def test_a_slice_that_two_tenants_share_says_nothing():
    """Words tell a tenant only where no other live tenant uses them."""
    shared = prompt_of(Canary.of(18, 0, 7), 300, form=LINES)
    own, index = setup(LINES, VICTIM_LINES, shared)
    words = " and ".join(sorted({w for w in VICTIM_LINES.text.split()[2:400] if w.isalpha()}))
    assert tally(words, own, index) == ()


def test_words_of_the_own_tenant_say_nothing():
    """Another probe of the own tenant uses the same slice: its codes count, its words do not."""
    sibling = prompt_of(Canary.of(1, 0, 999), 300, form=LINES)
    own, index = setup(LINES, sibling)
    (found,) = tally(sibling.text[930:1100], own, index)
    assert (found.canary, found.exclusive_words) == (sibling.canary, 0)
    assert found.evidence_bits >= PAGE_BITS


def test_the_best_of_several_probes_of_a_tenant_is_named():
    """A tenant with several live probes gets one tally, which names the probe whose codes were seen."""
    others = [prompt_of(Canary.of(2, 0, serial), 60, form=LINES) for serial in range(5)]
    own, index = setup(LINES, VICTIM_LINES, *others)
    (found,) = tally(VICTIM_LINES.text[:300], own, index)
    assert found.canary == VICTIM_CANARY


def test_strongest_tenant_comes_first():
    """Tallies are ordered by evidence, and none is negative."""
    third = prompt_of(Canary.of(3, 0, 3), 60, form=LINES)
    own, index = setup(LINES, VICTIM_LINES, third)
    found = tally(third.text[:60] + " " + VICTIM_LINES.text[:700], own, index)
    assert [t.tenant_number for t in found] == [2, 3]
    assert found[0].evidence_bits >= found[1].evidence_bits >= 0.0


def prose() -> list[str]:
    """Words of ordinary English: docstrings and comments of the standard library."""
    folder = pathlib.Path(inspect.getfile(re)).parent.parent
    text = " ".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.py"))[:60])
    return re.findall(r'"""(.*?)"""', text, re.DOTALL)[:4000]


def null_answer(kind: str, own: Prompt, passages: list[str], rng: random.Random) -> str:
    """Answer of an LLM that saw nothing but the own prompt."""
    if kind == "prose":
        return " ".join(rng.choices(passages, k=8))
    if kind == "salad":
        return " ".join(rng.choices(WORDS, k=rng.choice((10, 40, 150))))
    if kind == "codes":
        return "-".join("".join(rng.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=4)) for _ in range(60))
    words = own.text.split()
    start = rng.randrange(len(words) - 60)
    return " ".join(noisy(words[start : start + 60], 0.2, "substitution", rng))


@pytest.mark.no_coverage
@pytest.mark.parametrize("kind", ["prose", "salad", "codes", "noisy echo"])
@pytest.mark.parametrize("form", list(TextForm))
def test_false_attribution_stays_below_its_bound(form: TextForm, kind: str):
    """Without a leak, over random keys, P(any tally >= b bits) <= 2**-b (+ 3 sigma of 100 trials)."""
    rng, passages, trials, strongest = random.Random(17), prose(), 100, []
    for _ in range(trials):
        keyring = Keyring.create(rng.randbytes(32))
        index = LiveIndex(keyring)
        own = prompt_of(Canary.of(1, 0, rng.randrange(2**28)), 12, keyring=keyring, form=form)
        donors = [Canary.of(tenant, 0, rng.randrange(2**28)) for tenant in (2, 3, 4)]
        for prompt in (own, *(prompt_of(c, rng.choice((5, 60)), keyring=keyring, form=form) for c in donors)):
            index.remember(prompt, form)
        found = tally(null_answer(kind, own, passages, rng), own, index)
        strongest.append(max((t.evidence_bits for t in found), default=0.0))
    for bound in (1, 2, 3, 4, 6, 8):
        expected = 2.0**-bound
        assert sum(bits >= bound for bits in strongest) / trials <= expected + 3 * (expected / trials) ** 0.5
    assert max(strongest) < PAGE_BITS
