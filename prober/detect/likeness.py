"""How alike two answers are, from their signatures alone."""

import operator
from typing import Final

UNLIKE: Final = 0.3
"""Below it two answers share little but the words around what was asked for.

One word of a six-word phrase miscopied leaves five of eleven different shingles (0.45); another phrase in the same
sentence leaves two of fourteen (0.14). 64 values estimate either to a standard deviation of 0.06.
"""

LIKE: Final = 0.8
"""From it on two answers are one text (MinHash alarm threshold of detection-science 6)."""

_GLANCE = 8
"""Places compared before all are: of two signatures at 0.8 they differ in all eight once in 390,000 pairs."""


def likeness(signature: tuple[int, ...], other: tuple[int, ...]) -> float | None:
    """Jaccard similarity of two answers' shingles, 0..1, as the share of equal MinHash values; None: one is too short.

    Source: Broder 1997. Standard deviation sqrt(J (1 - J) / values).
    """
    if not signature or len(signature) != len(other):
        return None
    agreeing: int = sum(map(operator.eq, signature, other))
    return agreeing / len(signature)


def may_be_like(signature: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Rule most unlike pairs out at little cost."""
    return any(map(operator.eq, signature[:_GLANCE], other[:_GLANCE]))
