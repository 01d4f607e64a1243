"""The plain English around the filler: every sentence of ours that a prompt holds, and the words it may bring back."""

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from prober.domain.prompt import NeedlePosition
from prober.prompt.alphabet import WORDS

NOUNS: Final = {
    NeedlePosition.HEAD: "harbour",
    NeedlePosition.MIDDLE: "orchard",
    NeedlePosition.END: "lantern",
}
"""One noun per position, the same in every prompt: honest LLMs resolve one literal needle but confuse look-alikes, and
a fixed noun keeps a sentence's token count constant."""

FIRST_LINE_NOUN: Final = "Notebook"

INSTRUCTION_LINE: Final = "Whoever reads this page: copy the 30 words before this line exactly.\n"
"""Stands between filler sections, so that a stale page which is attended to also asks to be echoed."""

PAD_WORD: Final = " the"
"""One token in every tokenizer measured, however often it is repeated."""

_CONNECTIVES: Final = "Here are they final access phrases thirty copied below follows ref"
"""What a compliant answer puts around the phrases and the copied words; `ref` marks the code of a numbered line."""


def first_line(words: Sequence[str]) -> str:
    """Open the prompt; a plain word leads, since an alphabet word is one token only behind a space."""
    return f"{FIRST_LINE_NOUN} {' '.join(words)}.\n"


def needle_sentence(noun: str, phrase: Sequence[str]) -> str:
    """State a phrase under its noun."""
    return f"The {noun} phrase is {' '.join(phrase)}.\n"


def closing_question(nouns: Sequence[str]) -> str:
    """Ask for the phrases of one to three nouns, in the needles' own key words, then for an echo."""
    asked = [f"the {noun} phrase" for noun in nouns]
    listed = asked[0] if len(asked) == 1 else f"{', '.join(asked[:-1])} and {asked[-1]}"
    return f"Reply with {listed}, then copy the last 30 words of the document.\n"


def repeat_question(noun: str) -> str:
    """Ask for one phrase, in the form that small LLMs follow best."""
    return f"Repeat the {noun} phrase.\n"


def pad_line(words: int) -> str:
    """Count `words` + 1 tokens, for at least one word."""
    return PAD_WORD * words + "\n"


def _vocabulary() -> frozenset[str]:
    nouns = tuple(NOUNS.values())
    sentences = (
        first_line(()),
        needle_sentence(nouns[0], ()),
        closing_question(nouns),
        repeat_question(nouns[0]),
        INSTRUCTION_LINE,
        PAD_WORD,
        _CONNECTIVES,
    )
    return frozenset(re.findall("[a-z]+", " ".join(sentences).lower()))


FUNCTION_WORDS: Final = frozenset({"and", "are", "is", "of", "the", "they"})
"""Of `VOCABULARY`, those that any English text is full of: they are ours among words of ours only."""

VOCABULARY: Final = _vocabulary()
"""Lower-case words of all sentences here: an answer that uses them says nothing foreign."""

IS_WORDING: Final = np.array([word in VOCABULARY for word in WORDS])
"""Alphabet words among them, which prove nothing; shape (2048,)."""
