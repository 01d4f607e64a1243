"""Fake tokenizers, as functions from a text to its token count, with what real ones do at words and line ends."""

import re
import zlib
from collections.abc import Callable

from prober.domain.canary import Canary
from prober.domain.target import TextForm
from prober.prompt.composer import compose
from prober.prompt.tokens import Calibration, calibrate, calibration_specs
from tests.support.canary_text import KEYRING

TokenCount = Callable[[str], int]

TEMPLATE_TOKENS = 13
"""What a chat template adds."""

_PIECES = re.compile(r" ?[A-Za-z]+| ?\d+|[^\w\s]|\n")
_MERGING_PIECES = re.compile(r" ?[A-Za-z]+|\d{1,3}| ?[^\w\s]+\n*|\s*\n+|\s")
_WORDS = re.compile(r" ?[A-Za-z]+")


def one_per_word(text: str) -> int:
    """Words and newlines, punctuation stuck to its word."""
    return len(text.split()) + text.count("\n") + TEMPLATE_TOKENS


def words_and_punctuation(text: str) -> int:
    """Words, numbers, punctuation marks and newlines."""
    return len(_PIECES.findall(text)) + TEMPLATE_TOKENS


def merging_newlines(text: str) -> int:
    """Like byte-level BPE: punctuation swallows the newlines after it, runs of newlines are one token."""
    return len(_MERGING_PIECES.findall(text)) + TEMPLATE_TOKENS


def bare_words_differ(text: str) -> int:
    """Like cl100k: a word is one token behind a space, but half the words are two tokens at the start of a line."""
    bare = (piece for piece in _WORDS.findall(text) if not piece.startswith(" "))
    return merging_newlines(text) + sum(zlib.crc32(piece.encode()) % 2 for piece in bare)


def uneven_words(text: str) -> int:
    """A tokenizer that knows only six of seven alphabet words: lines differ."""
    uneven = sum(zlib.crc32(piece.encode()) % 7 == 0 for piece in _WORDS.findall(text))
    return merging_newlines(text) + uneven


UNIFORM: dict[str, TokenCount] = {
    count.__name__: count for count in (one_per_word, words_and_punctuation, merging_newlines, bare_words_differ)
}
"""Tokenizers in which every alphabet word behind a space counts the same."""


def calibrated(form: TextForm, count_tokens: TokenCount) -> Calibration:
    """Calibrate like a run does: one canary per call, counts from the server's tokenizer."""
    specs = calibration_specs(form)
    texts = [compose(spec, Canary.of(3, 0, 900 + i), KEYRING, None).text for i, spec in enumerate(specs)]
    return calibrate(form, [count_tokens(text) for text in texts])
