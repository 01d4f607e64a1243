import concurrent.futures
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab import tokenizer as module
from prober.lab.tokenizer import FIRST_ORDINARY, NEWLINE, PADDING, TEMPLATE_TOKENS, UNKNOWN, USER, Tokenizer

LINES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60).map(lambda s: s + "\n")
PLAIN = st.lists(st.from_regex(r"[a-zA-Z0-9äöü]{1,40}|[.,;:!?()\[\]-]", fullmatch=True), max_size=20).map(" ".join)
SHARED = Tokenizer()


@given(st.lists(LINES, max_size=6))
@settings(deadline=None, max_examples=60, derandomize=True)
def test_newline_terminated_lines_are_exactly_additive(lines: list[str]):
    """A text of newline-terminated lines costs the sum of its lines, whatever they hold."""
    assert len(SHARED.encode("".join(lines))) == sum(len(SHARED.encode(line)) for line in lines)


@given(PLAIN)
@settings(deadline=None, max_examples=60, derandomize=True)
def test_singly_spaced_text_survives_the_round_trip(text: str):
    """Decoding gives back any text whose blanks are single."""
    assert SHARED.decode(SHARED.encode(text)) == text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("word", 1), (" the the the\n", 4), ("a-b_c", 5), ("...", 3), ("\n\n", 2), ("  x  ", 1), ("   ", 0),
     ("y" * 40, 3), ("1. [ref AB12-CD34] ", 8), ("naïve", 1), ("don't", 3)],
)  # fmt: skip
def test_token_counts_follow_the_stated_rules(text: str, tokens: int):
    """Words, single marks and newlines are tokens; blanks are absorbed; runs are cut at 16 bytes."""
    assert len(SHARED.encode(text)) == tokens


def test_the_same_word_has_the_same_id_in_any_order_of_arrival():
    """Ids are stable: known words keep theirs when the vocabulary grows past its first tables."""
    tokenizer = Tokenizer()
    first = tokenizer.encode("alpha beta gamma")
    tokenizer.encode(" ".join(f"filler{number}" for number in range(120_000)))
    assert tokenizer.pieces > 120_000
    assert np.array_equal(tokenizer.encode("alpha beta gamma"), first)
    assert tokenizer.decode(first) == "alpha beta gamma"


def test_colliding_words_stay_apart():
    """Hundreds of thousands of words, hash collisions included, are all told apart."""
    tokenizer = Tokenizer()
    text = " ".join(f"w{number:x}" for number in range(200_000))
    ids = tokenizer.encode(text)
    assert len(np.unique(ids)) == 200_000
    assert tokenizer.decode(ids) == text


def test_a_single_user_message_costs_the_stated_template():
    """The chat template adds exactly 24 tokens to one user message."""
    content = "Copy the words.\n"
    assert len(SHARED.encode_chat([("user", content)])) - len(SHARED.encode(content)) == TEMPLATE_TOKENS == 24


def test_roles_have_their_own_marks_and_text_cannot_forge_them():
    """Only the template writes special tokens; unknown roles speak as users."""
    ids = SHARED.encode_chat([("system", "x"), ("user", "<|user|> y"), ("assistant", "z"), ("nobody", "q")])
    assert (ids == USER).sum() == 2
    assert (SHARED.encode("<|user|> <|end|>") >= FIRST_ORDINARY).all()


def test_padding_reads_as_exclamation_marks_and_specials_as_nothing():
    """Cleared memory reads "!!!", special tokens read as nothing."""
    assert SHARED.decode([PADDING] * 3) == "!!!"
    assert SHARED.decode([USER, NEWLINE]) == "\n"
    assert SHARED.decode([]) == ""


def test_a_full_vocabulary_maps_new_words_to_unknown(monkeypatch: pytest.MonkeyPatch):
    """Beyond its bound the vocabulary stops growing, and known words keep working."""
    tokenizer = Tokenizer()
    known = tokenizer.encode("known words")
    monkeypatch.setattr(module, "MAX_PIECES", tokenizer.pieces)
    assert tokenizer.encode("brand")[0] == UNKNOWN
    assert np.array_equal(tokenizer.encode("known words"), known)


def test_threads_agree_on_the_ids_of_new_words():
    """Several threads that meet the same new words get the same ids."""
    tokenizer = Tokenizer()
    text = " ".join(f"n{number}" for number in range(20_000))
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        encoded = list(executor.map(tokenizer.encode, [text] * 8))
    assert all(np.array_equal(ids, encoded[0]) for ids in encoded)


@pytest.mark.alone
def test_a_million_words_take_a_fraction_of_a_second():
    """Five megabytes are tokenized fast enough not to drown the simulated prefill time."""
    text = ("lamp fern dusk pine moth reed hazel brook " * 2 + "\n") * 62_500
    tokenizer = Tokenizer()
    tokenizer.encode(text)
    best = min(_seconds(tokenizer, text) for _ in range(3))
    assert best < 0.5


def _seconds(tokenizer: Tokenizer, text: str) -> float:
    begun = time.perf_counter()
    tokenizer.encode(text)
    return time.perf_counter() - begun
