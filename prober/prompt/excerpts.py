"""Which parts of an answer are foreign: neither text of its own prompt, needles and instructions included, nor ours."""

import dataclasses
import enum
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from prober.domain.excerpt import Channel, Excerpt, ExcerptBounds
from prober.domain.observation import Observation
from prober.domain.prompt import Prompt
from prober.prompt.wording import VOCABULARY

MOST_SCANNED: Final = 262_144
"""Characters of a channel that are looked at: answers are bounded by far fewer tokens, hostile ones by bytes only."""

SHINGLE: Final = 3
"""Consecutive words that must stand in the own prompt to be its text; a needle's phrase has as many."""

_WORD: Final = re.compile(r"[^\W_]+")


class _Kind(enum.Enum):
    OWN = enum.auto()
    NEUTRAL = enum.auto()
    """A word of our sentences: foreign among foreign words, ours among ours."""
    FOREIGN = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class _Word:
    text: str
    """Normalised: NFKC, case folded."""
    start: int
    end: int


def foreign_excerpts(observation: Observation, own: Prompt, bounds: ExcerptBounds) -> tuple[Excerpt, ...]:
    """Cut out what of an answer stands in no text of ours, the longest stretches first while the bounds allow.

    A word is the prompt's own where it and its neighbours make three consecutive words of the prompt: the alphabet's
    single words stand in every long prompt, another tenant's text hardly ever does for three words. Words of our own
    sentences (`wording.VOCABULARY`) and of the needles count as foreign only between foreign ones. Stretches are cut
    to `bounds.excerpt` characters from their start.

    Returns:
        In the answer's order; empty where nothing is foreign.
    """
    texts = (
        (Channel.CONTENT, observation.text[:MOST_SCANNED]),
        (Channel.REASONING, observation.reasoning[:MOST_SCANNED]),
        (Channel.OTHER, observation.other_text[:MOST_SCANNED]),
    )
    words = {channel: list(_words_of(text)) for channel, text in texts}
    own_shingles = _shingles_in(own.text, {shingle for found in words.values() for shingle in _shingles(found)})
    neutral = VOCABULARY | {_normalised(word) for needle in own.needles for word in (needle.noun, *needle.phrase)}
    stretches = [
        Excerpt(channel=channel, start=start, text=text[start:end])
        for channel, text in texts
        for start, end in _foreign_stretches(words[channel], own_shingles, neutral)
    ]
    return _within(stretches, bounds)


def _within(stretches: Sequence[Excerpt], bounds: ExcerptBounds) -> tuple[Excerpt, ...]:
    """The longest ones that fit, cut, back in their order."""
    longest_first = sorted(range(len(stretches)), key=lambda i: (-len(stretches[i].text), i))
    left, chosen = bounds.finding, {}
    for i in longest_first:
        text = stretches[i].text[: min(bounds.excerpt, left)]
        if not text:
            break
        chosen[i] = dataclasses.replace(stretches[i], text=text)
        left -= len(text)
    return tuple(chosen[i] for i in sorted(chosen))


def _words_of(text: str) -> Iterator[_Word]:
    return (_Word(_normalised(match.group()), match.start(), match.end()) for match in _WORD.finditer(text))


def _normalised(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _shingles(words: Sequence[_Word]) -> Iterator[tuple[str, ...]]:
    """Every three consecutive words; of a shorter text all that there are."""
    for i in range(max(1, len(words) - SHINGLE + 1)):
        yield tuple(word.text for word in words[i : i + SHINGLE])


def _shingles_in(own: str, wanted: AbstractSet[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Those that stand in a prompt, which may hold a million words: they are gone through once, none is kept."""
    lengths = {len(shingle) for shingle in wanted} - {0}
    normalised = _normalised(own) if lengths else ""
    found: set[tuple[str, ...]] = set()
    for length in lengths:
        ours: Iterable[str] = (match.group() for match in _WORD.finditer(normalised))
        copies = itertools.tee(ours, length)
        for offset, copy in enumerate(copies):
            next(itertools.islice(copy, offset, offset), None)
        found.update(shingle for shingle in zip(*copies, strict=False) if shingle in wanted)
    return found


def _foreign_stretches(
    words: Sequence[_Word], own_shingles: AbstractSet[tuple[str, ...]], neutral: AbstractSet[str]
) -> Iterator[tuple[int, int]]:
    """Offsets of each unbroken stretch that begins and ends with a foreign word and holds none of the prompt's own."""
    kinds = _kinds(words, own_shingles, neutral)
    first: _Word | None = None
    last: _Word | None = None
    for word, kind in zip(words, kinds, strict=True):
        if kind is _Kind.FOREIGN:
            first, last = first or word, word
        elif kind is _Kind.OWN and first is not None and last is not None:
            yield first.start, last.end
            first = last = None
    if first is not None and last is not None:
        yield first.start, last.end


def _kinds(
    words: Sequence[_Word], own_shingles: AbstractSet[tuple[str, ...]], neutral: AbstractSet[str]
) -> list[_Kind]:
    kinds = [_Kind.NEUTRAL if word.text in neutral else _Kind.FOREIGN for word in words]
    for i, shingle in enumerate(_shingles(words)):
        if shingle in own_shingles:
            kinds[i : i + len(shingle)] = [_Kind.OWN] * len(shingle)
    return kinds
