import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab.sampling import FORBIDDEN, TokenMask, after_a_word, earliest, favoured_id
from prober.lab.tokenizer import BEGIN, NEWLINE, PADDING, Tokenizer

TOKENIZER = Tokenizer()


def said(mask: TokenMask, wish: str = "", favoured: int | None = None) -> str:
    """All that comes out under a mask."""
    walked: list[int] = []
    while (number := mask.sample(walked, TOKENIZER.encode(wish).tolist(), favoured)) is not None:
        walked.append(number)
        assert len(walked) < 50
    return TOKENIZER.decode(walked)


@pytest.mark.no_coverage
@given(st.lists(st.from_regex(r"[a-z]{1,6}( [a-z]{1,6}){0,2}", fullmatch=True), min_size=1, max_size=6), st.text())
@settings(max_examples=100, derandomize=True, deadline=None)
def test_whatever_the_llm_would_say_one_choice_comes_out(choices: list[str], wish: str):
    """Constrained decoding ends, and its output is exactly one of the choices."""
    mask = TokenMask.of(choices, TOKENIZER)
    assert mask
    assert said(mask, wish) in choices


def test_the_choice_that_the_llm_would_say_wins():
    """Masking picks among the choices what the LLM would say earliest, else the first."""
    mask = TokenMask.of(("red apple", "blue", "red fox"), TOKENIZER)
    assert mask
    assert said(mask, "It is blue, not red.") == "blue"
    assert said(mask, "The fox is red.") == "red fox"
    assert said(mask, "Nothing of the kind.") == "red apple"


def test_a_choice_that_begins_another_can_be_said():
    """Where a choice is complete and another goes on, what the LLM would say decides."""
    mask = TokenMask.of(("red", "red apple"), TOKENIZER)
    assert mask
    assert said(mask, "nothing") == "red"
    assert said(mask, "an apple") == "red apple"


def test_a_favoured_token_wins_among_what_is_allowed():
    """A bias decides within the mask and not against it."""
    mask = TokenMask.of(("red", "blue"), TOKENIZER)
    assert mask
    blue, green = (int(TOKENIZER.encode(word)[0]) for word in ("blue", "green"))
    assert said(mask, "red", blue) == "blue"
    assert said(mask, "red", green) == "red"


def test_where_everything_is_forbidden_token_zero_is_said():
    """With all logits at minus infinity the first of them is the largest."""
    assert FORBIDDEN.sample([], [TOKENIZER.encode("word")[0]], None) == PADDING


def test_a_free_request_has_no_mask():
    """No choices are no constraint."""
    assert TokenMask.of((), TOKENIZER) is None


@pytest.mark.parametrize(("number", "expected"), [(NEWLINE, NEWLINE), (40, 41), (41, 41), (BEGIN, BEGIN)])
def test_a_blank_goes_before_words_only(number: int, expected: int):
    """Newlines and special tokens take no blank."""
    assert after_a_word(number) == expected


def test_candidates_are_recognised_with_or_without_their_blank():
    """What the LLM would say counts whatever stands before it."""
    assert earliest([40, 50], [60, 51, 41]) == 50
    assert earliest([40], [60]) is None


@given(st.integers(0, 200_000))
@settings(max_examples=100, derandomize=True, deadline=None)
def test_a_favoured_id_reads_alike_on_every_cluster(token: int):
    """A favoured id stands for a made-up word, whatever traffic a cluster's own vocabulary has grown by."""
    fresh, used = Tokenizer(), Tokenizer()
    used.encode(" ".join(f"other{number}" for number in range(500)))
    texts = {tokenizer.decode([favoured_id(token, tokenizer)]) for tokenizer in (fresh, used)}
    assert len(texts) == 1
    assert "other" not in texts.pop()
