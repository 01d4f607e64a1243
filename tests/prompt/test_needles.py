"""Needles and their recall."""

import itertools
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.prompt import Needle, NeedlePosition
from prober.domain.reading import Recall
from prober.prompt.alphabet import WORDS
from prober.prompt.keyring import Keyring
from prober.prompt.needles import needles_for, recall, sentence

KEYRING = Keyring.create(bytes(range(32)))
HEAD, MIDDLE, END = NeedlePosition
NEEDLES = (
    Needle(position=HEAD, noun="harbour", phrase=("able", "acid", "acts")),
    Needle(position=MIDDLE, noun="orchard", phrase=("alum", "anew", "apex")),
    Needle(position=END, noun="lantern", phrase=("arab", "arch", "aunt")),
)


def test_needles_follow_from_key_canary_and_position():
    """The same canary has the same needles; another canary, position or key has others; nouns are distinct."""
    canary, other = Canary.of(1, 0, 1), Canary.of(1, 0, 2)
    needles = needles_for(KEYRING, canary, tuple(NeedlePosition))
    assert needles == needles_for(KEYRING, canary, tuple(NeedlePosition))
    assert [needle.position for needle in needles] == [HEAD, MIDDLE, END]
    assert len({needle.noun for needle in needles}) == 3
    elsewhere = needles_for(KEYRING, other, (END,)) + needles_for(Keyring.create(b"k" * 32), canary, (END,))
    assert len({needle.phrase for needle in needles + elsewhere}) == 5
    assert all(word in WORDS for needle in needles for word in needle.phrase)
    assert needles_for(KEYRING, canary, (END,)) == needles[2:]


def test_sentence_is_plain_english():
    """A needle is written as one newline-terminated sentence."""
    assert sentence(NEEDLES[0]) == "The harbour phrase is able acid acts.\n"


ALL = (HEAD, MIDDLE, END)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("The harbour phrase is able acid acts. The orchard phrase is alum anew apex. arab arch aunt", ALL),
        ("arab arch aunt; alum anew apex; able acid acts", ALL),
        ("ABLE ACID ACTS", (HEAD,)),
        ("**able** _acid_ `acts`", (HEAD,)),
        ('"able", "acid",\n"acts"', (HEAD,)),
        ('["able","acid","acts"]', (HEAD,)),
        ("1. able\n2. acid\n3. acts\n", (HEAD,)),
        ("able-acid-acts", (HEAD,)),
        ("able\u200bacid\u2060 acts\ufeff", (HEAD,)),
        ("\uff41\uff42\uff4c\uff45 \uff21\uff23\uff29\uff24 acts", (HEAD,)),
        ("able ac-\nid acts", (HEAD,)),
        ("able acid\\nacts", (HEAD,)),
        ("able\\u00a0acid acts", (HEAD,)),
        ("AbleAcidActs", (HEAD,)),
        ("| lantern | arab arch aunt |", (END,)),
        ("able acid", ()),
        ("acts acid able", ()),
        ("able and acid acts", ()),
        ("able acid alum acts", ()),
        ("able \u4e2d\u6587 acid acts", ()),
        ("table acid acts", ()),
        ("able acid actsx", ()),
        ("able acid act", ()),
        ("", ()),
        ("\ud800", ()),
    ],
)
def test_recall_is_containment_of_consecutive_words(answer: str, found: tuple[NeedlePosition, ...]):
    """A phrase counts when its words stand together, whatever marks stand between them, and else it does not."""
    assert recall(answer, NEEDLES) == Recall(asked=ALL, found=found)


def test_only_needles_asked_for_count():
    """Recall reports the needles of the prompt at hand only."""
    assert recall("able acid acts arab arch aunt", NEEDLES[2:]) == Recall(asked=(END,), found=(END,))
    assert recall("able acid acts", ()) == Recall()


MARKS = st.text(
    st.characters(categories=["P", "S", "Z", "Cf", "Nd"], exclude_characters="\\").filter(
        lambda mark: not any(map(str.isalpha, unicodedata.normalize("NFKC", mark)))
    ),
    max_size=5,
)


@pytest.mark.no_coverage
@settings(max_examples=150, derandomize=True)
@given(marks=st.lists(MARKS, min_size=8, max_size=8), order=st.permutations(NEEDLES), upper=st.booleans())
def test_recall_sees_through_any_marks(marks: list[str], order: list[Needle], *, upper: bool):
    """Punctuation, symbols, spaces, digits and format characters between words never hide a phrase."""
    words = [word for needle in order for word in needle.phrase]
    answer = "".join(itertools.chain.from_iterable(zip(words, [*(f" {mark} " for mark in marks), ""], strict=True)))
    assert recall(answer.upper() if upper else answer, NEEDLES).found == ALL


def test_long_hostile_answers_are_searched_in_linear_time():
    """Near misses and megabytes of marks cost no backtracking."""
    assert recall("able acid " * 50_000 + "." * 1_000_000 + "able" + " " * 500_000 + "acid", NEEDLES).found == ()
