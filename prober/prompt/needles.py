"""Plain-sentence needles: what only an LLM that truly read the prompt can give back, and whether an answer holds it."""

import re
import unicodedata
from collections.abc import Sequence

from prober.domain.canary import Canary
from prober.domain.prompt import Needle, NeedlePosition
from prober.domain.reading import Recall
from prober.prompt.keyed_words import keyed_words
from prober.prompt.keyring import Keyring
from prober.prompt.wording import NOUNS, needle_sentence

_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|[nrt])")
"""Escapes of JSON in an answer that quotes itself: their letters are no text."""

_BETWEEN_LETTERS = r"[\W\d_]*"
_NO_LETTER_BEFORE = r"(?<![^\W\d_])"
_NO_LETTER_AFTER = r"(?![^\W\d_])"


def needles_for(
    keyring: Keyring, canary: Canary, positions: Sequence[NeedlePosition], words: int = 3
) -> tuple[Needle, ...]:
    """Derive the needles of a canary's prompt; distinct nouns, phrases of so many alphabet words each."""
    return tuple(
        Needle(
            position=position,
            noun=NOUNS[position],
            phrase=keyed_words(keyring, canary, f"needle {position.value}", words),
        )
        for position in positions
    )


def sentence(needle: Needle) -> str:
    """Write the needle as a newline-terminated sentence."""
    return needle_sentence(needle.noun, needle.phrase)


def recall(answer: str, needles: Sequence[Needle]) -> Recall:
    """Find the phrases that the answer holds, by containment, each as consecutive words and in any order.

    Case, compatibility forms (NFKC), digits, punctuation, markdown, white space, zero-width characters and JSON escapes
    are ignored, between words and within (line-break hyphens). Scoring by equality would miss 16-19 points more.
    """
    text = _ESCAPE.sub(" ", unicodedata.normalize("NFKC", answer).lower())
    return Recall(
        asked=tuple(needle.position for needle in needles),
        found=tuple(needle.position for needle in needles if _holds(text, needle.phrase)),
    )


def _holds(text: str, phrase: Sequence[str]) -> bool:
    letters = _BETWEEN_LETTERS.join("".join(phrase))
    return re.search(f"{_NO_LETTER_BEFORE}{letters}{_NO_LETTER_AFTER}", text) is not None
