"""Texts that refuse a prompt for its length, and the numbers in them. Whole documented bodies: test_refusals."""

import pytest

from prober.endpoint.overflow_text import says_overflow, stated_limits, stated_tokens


@pytest.mark.parametrize(
    "text",
    [
        "the service is fine",
        "Request entity too large",
        "context deadline exceeded",
        "maximum context is large",
        "Context size has been exceeded.",
        "max_tokens must be at least 1, got 5",
        "the prompt is long",
    ],
)
def test_other_texts_are_no_overflow(text: str):
    """Texts that share words with length rejections are none."""
    assert not says_overflow(text)


@pytest.mark.parametrize(
    ("number", "limit"),
    [
        ("8192", 8192),
        ("1,048,576", 1_048_576),
        ("1_048_576", 1_048_576),
        ("1\u202f048\u202f576", 1_048_576),
        ("0", None),
        ("999999999999", None),
    ],
)
def test_numbers_may_carry_separators(number: str, limit: int | None):
    """Limits are read with and without thousands separators; nonsense is not taken for one."""
    assert stated_limits(f"maximum context length is {number} tokens") == (() if limit is None else (limit,))


def test_several_limits_come_sorted_and_once():
    """A gateway that quotes two servers states each limit once, smallest first."""
    text = "maximum context length is 8192 tokens; maximum allowed length (2042 tokens); context length (8192 tokens)"

    assert stated_limits(text) == (2042, 8192)


def test_a_lower_bound_is_no_count():
    """An "at least N" of vLLM's is where it stopped counting: taken for a count it would spoil a calibration."""
    assert stated_tokens("your prompt contains at least 8193 input tokens") is None
    assert stated_tokens("your prompt contains 9001 input tokens") == 9001


def test_hostile_text_costs_no_time():
    """Text made to backtrack is searched in a blink."""
    for text in ("inputs" * 3000, "context window " * 1000, "1,111" * 3000, "input token count" * 1000):
        assert not stated_limits(text)
        assert not says_overflow(text)
