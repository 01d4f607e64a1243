"""The decoder against a slow and plain reading of what it is defined to find."""

from pydoc_data.topics import topics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.domain.canary import Canary
from prober.domain.target import TextForm
from prober.prompt.decoder import decode
from tests.support.canary_text import KEYRING, MANGLINGS, filler
from tests.support.plain_scan import plain_decoding, plain_symbols

CANARY = Canary.of(1999, 0, 0x0ABCDEF)
SECTION = filler(CANARY, [125])
LINES = filler(CANARY, [300], form=TextForm.NUMBERED_LINES)
PROSE = "\n".join(topics.values())
"""The Python language reference, which every Python carries."""
SEAM = 1 << 16
"""About where long texts are taken apart."""


def slices(text: str, longest: int) -> st.SearchStrategy[str]:
    return st.builds(
        lambda start, length: text[start : start + length], st.integers(0, len(text)), st.integers(0, longest)
    )


def dressed(mangling: str, start: int, words: int) -> str:
    return MANGLINGS[mangling](SECTION.split()[start : start + words])


PARTS = st.one_of(
    slices(PROSE, 200),
    slices(SECTION, 130),
    slices(LINES, 130),
    st.builds(dressed, st.sampled_from(list(MANGLINGS)), st.integers(0, 1900), st.integers(1, 30)),
    st.text("ab ref12-\\n&;\u200b\u201c\uff21\U0001f600", max_size=12),
)


def assert_read_as_defined(text: str) -> None:
    decoding = decode(text, KEYRING)
    stream = [w for w in decoding.windows if w.form is TextForm.WORD_STREAM]
    lines = [w for w in decoding.windows if w.form is TextForm.NUMBERED_LINES]
    assert plain_decoding(text, KEYRING) == (
        [(w.canary, w.text, w.count, w.first_block, w.last_block) for w in stream],
        [(w.canary, w.text, w.first_block) for w in lines],
        decoding.stream_candidates,
        decoding.code_candidates,
    )
    symbols = zip(decoding.symbols.offsets.tolist(), decoding.symbols.data.tolist(), strict=True)
    assert list(symbols) == plain_symbols(decoding.letters, KEYRING)


@pytest.mark.no_coverage
@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(PARTS, max_size=10).map("".join))
def test_mixtures_are_read_as_defined(text: str):
    """In any mixture of prose, canary text and noise, the same is found and tried as by plain reading."""
    assert_read_as_defined(text)


@pytest.mark.no_coverage
@settings(max_examples=10, derandomize=True, deadline=None)
@given(PARTS, st.integers(-200, 60), PARTS)
def test_mixtures_at_the_seams_of_stretches(before: str, place: int, part: str):
    """What lies where a long text is taken apart is read like anything else."""
    assert_read_as_defined(PROSE[: SEAM + place] + before + SECTION[place + 200 :][:70] + part + PROSE[:200])


@pytest.mark.parametrize("length", [40, 46, 57, 58, 59, 75])
def test_short_cuts_at_every_alignment(length: int):
    """Scraps about as long as the guarantee's are read alike wherever they begin among other letters."""
    for shift in range(56):
        cut = SECTION[7 * shift :][:length]
        assert_read_as_defined("q" * shift + cut)
        assert_read_as_defined("zq " * shift + cut + " the page ends here")
