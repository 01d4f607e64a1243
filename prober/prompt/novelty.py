"""Closed-world check: how much of an answer is in words that none of our prompts holds.

Real customers' prompts carry no canary, but our prompts ask for phrases and filler only, so any other word is foreign
or the LLM's own. Filler words are the alphabet whatever the prompt's size: no prompt is ever taken apart for it.
"""

import dataclasses
import enum
import itertools
import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from prober.prompt.alphabet import WORDS
from prober.prompt.wording import FUNCTION_WORDS, VOCABULARY

_KNOWN: Final = (frozenset(WORDS) | VOCABULARY) - FUNCTION_WORDS

_LINE_BREAK_HYPHEN: Final = re.compile(r"[-\u2010\u2011]\s*\n\s*")
_CODE: Final = re.compile(r"\b[0-9a-z]{4}(?:-[0-9a-z]{1,4})+\b")
_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-f]{4}|[nrt])")
_UNSPACED: Final = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
_WORD: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
"""Scripts without spaces (Thai, Lao, kana, Han) count a word per character."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Novelty:
    """Counts of words; no word itself."""

    words: int
    novel_words: int
    longest_novel_run: int


class _Kind(enum.Enum):
    KNOWN = enum.auto()
    FUNCTION = enum.auto()
    NOVEL = enum.auto()


def novelty(words: Sequence[str]) -> Novelty:
    """Count the words that stand neither in the filler alphabet nor in any sentence of ours.

    Function words count as novel next to novel words, for a quarter of any English text is made of them.

    Args:
        words: as `words_of` gives them.
    """
    runs = [(kind, len(list(run))) for kind, run in itertools.groupby(words, key=_kind)]
    novel = _novel_runs(runs)
    return Novelty(
        words=sum(length for _, length in runs),
        novel_words=sum(novel),
        longest_novel_run=max(novel),
    )


def _kind(word: str) -> _Kind:
    if word in FUNCTION_WORDS:
        return _Kind.FUNCTION
    return _Kind.KNOWN if word in _KNOWN else _Kind.NOVEL


def _novel_runs(runs: list[tuple[_Kind, int]]) -> list[int]:
    """Lengths of the unbroken stretches of novel words, function words that touch one included."""
    kinds = [_Kind.KNOWN, *(kind for kind, _ in runs), _Kind.KNOWN]
    stretches = [0]
    for (_, length), neighbourhood in zip(runs, zip(kinds, kinds[1:], kinds[2:], strict=False), strict=True):
        if _is_novel(*neighbourhood):
            stretches[-1] += length
        elif stretches[-1]:
            stretches.append(0)
    return stretches


def _is_novel(before: _Kind, kind: _Kind, after: _Kind) -> bool:
    if kind is _Kind.FUNCTION:
        return _Kind.NOVEL in {before, after}
    return kind is _Kind.NOVEL


def words_of(text: str) -> list[str]:
    """Words of a text in order, lower case.

    A word is a run of letters; runs with a digit or underscore (line numbers, codes) are none. Case, compatibility
    forms, zero-width characters, JSON escapes and line-break hyphens are seen through.
    """
    plain = _ESCAPE.sub(" ", unicodedata.normalize("NFKC", text).lower())
    plain = _LINE_BREAK_HYPHEN.sub("", plain)
    if not plain.isascii():
        plain = "".join(character for character in plain if unicodedata.category(character) != "Cf")
    plain = _CODE.sub(_without_code, plain)
    return [word for word in _WORD.findall(plain) if word.isalpha()]


def _without_code(match: re.Match[str]) -> str:
    """Drop groups of a line code, keep hyphenated words: codes hold digits (all letters: about 1 in 400)."""
    code = match.group()
    return " " if any(character.isdigit() for character in code) else code
