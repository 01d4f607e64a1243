"""What each kind of ask puts beside the filler: which needles a prompt tells and asks for, and in which words."""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Final

from prober.domain.prompt import NeedlePosition
from prober.domain.target import Ask
from prober.prompt.wording import NOUNS, closing_question, first_line, needle_sentence, pad_line, repeat_question

FIRST_LINE_WORDS: Final = 6
"""66 keyed bits from the second token on: no two prompts share a prefix that a cache could reuse."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How prompts of one ask are made."""

    told: tuple[NeedlePosition, ...]
    """Needles that stand in the text, the asked ones last."""
    asked: int
    """How many of them the question asks for, from the end."""
    phrase_words: int
    """Alphabet words per phrase, 11 bits each: a phrase is never in an answer by accident."""
    end_repeats: int = 1
    """How often the END needle stands."""
    is_copy_asked: bool = False
    """The question ends by asking for the last 30 words of filler."""
    fewest_lines: int = 2
    """Least filler lines of its own in a prompt given by its lines: the MIDDLE needle stands between two."""
    smallest_lines: int = 4
    """Least filler lines of its own in a prompt given by its size: 30 words asked for are 2 lines of 16."""

    def question(self) -> str:
        """Last line of the prompt."""
        nouns = [NOUNS[position] for position in self.told[-self.asked :]]
        return closing_question(nouns) if self.is_copy_asked else repeat_question(nouns[0])


ASKINGS: Final[Mapping[Ask, Asking]] = {
    Ask.PHRASES_AND_COPY: Asking(told=tuple(NeedlePosition), asked=3, phrase_words=3, is_copy_asked=True),
    # A 135M LLM recalls the phrase of its 550-token prompt in 10 of 10 when it stands three times, once in 9 of 12.
    Ask.END_PHRASE: Asking(told=tuple(NeedlePosition), asked=1, phrase_words=3, end_repeats=3),
    Ask.ONE_FACT: Asking(told=(NeedlePosition.END,), asked=1, phrase_words=6, fewest_lines=1, smallest_lines=1),
}

_PIECE: Final = re.compile(r"\w+|[^\w\s]|\n")


@functools.cache
def rough_fixed_tokens(ask: Ask) -> int:
    """Words, marks and line ends of all lines that are neither filler nor instruction, with one pad word.

    Tells asks apart by a few tokens; what they count on a target is known by calibration only.
    """
    asking = ASKINGS[ask]
    words: Sequence[str] = ["word"] * max(FIRST_LINE_WORDS, asking.phrase_words)
    sentences = [needle_sentence(NOUNS[position], words[: asking.phrase_words]) for position in asking.told]
    fixed = [first_line(words[:FIRST_LINE_WORDS]), *sentences, *sentences[-1:] * (asking.end_repeats - 1)]
    return len(_PIECE.findall("".join([*fixed, pad_line(1), asking.question()])))
