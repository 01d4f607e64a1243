"""Sentences of the simulated LLM's answers: the phrases as they are, in plain, other or varied words around them."""

import enum
import random


class Manner(enum.Enum):
    """Words around the phrases. None of them changes a phrase."""

    PLAIN = "plain"
    PARAPHRASED = "paraphrased"
    """As another LLM might put it."""
    VARIED = "varied"
    """As the same LLM puts it when rounding differs: greedy decoding is not batch-invariant on real servers."""


_FOUND = {
    Manner.PLAIN: ("The {noun} phrase is {words}.",),
    Manner.PARAPHRASED: (
        "Sure, for the {noun} phrase you gave {words}.",
        "{words} is what stands there for {noun}.",
        "According to your text, the {noun} one reads: {words}.",
        "**{noun}**: {words}",
    ),
    Manner.VARIED: ("The {noun} phrase reads {words}.", "The {noun} phrase: {words}.", "{noun} phrase: {words}."),
}
_MISSING = {
    Manner.PLAIN: ("I cannot find the {noun} phrase.",),
    Manner.PARAPHRASED: ("There is no {noun} phrase in the text that I could see.",),
    Manner.VARIED: ("I could not find the {noun} phrase.",),
}


def found(noun: str, words: str, manner: Manner, draw: random.Random) -> str:
    """Say a phrase."""
    return _pick(_FOUND[manner], draw).format(noun=noun, words=words)


def missing(noun: str, manner: Manner, draw: random.Random) -> str:
    """Say that there is none."""
    return _pick(_MISSING[manner], draw).format(noun=noun)


def _pick(templates: tuple[str, ...], draw: random.Random) -> str:
    # What is drawn for nothing would change all draws that follow.
    return draw.choice(templates) if len(templates) > 1 else templates[0]
