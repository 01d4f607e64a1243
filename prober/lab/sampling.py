"""Sampling state of a row: which tokens constrained decoding lets through, and which one a bias favours."""

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from prober.lab.tokenizer import FIRST_ORDINARY, NEWLINE, PADDING, Ids, Tokenizer

_WORD_LETTERS = 5
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclasses.dataclass(frozen=True, slots=True)
class TokenMask:
    """Token sequences that constrained decoding lets through; none: every token is forbidden."""

    sequences: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, choices: Iterable[str], tokenizer: Tokenizer) -> "TokenMask | None":
        """Compile the choices of a request; None when it is free."""
        sequences = tuple(tuple(tokenizer.encode(choice).tolist()) for choice in choices)
        return cls(sequences) if sequences else None

    def allowed(self, said: Sequence[int]) -> tuple[list[int], bool]:
        """Tokens that may follow what was said under this mask, in the choices' order, and whether it may end."""
        length, said = len(said), tuple(said)
        fitting = [sequence for sequence in self.sequences if sequence[:length] == said]
        following = dict.fromkeys(sequence[length] for sequence in fitting if len(sequence) > length)
        return list(following), any(len(sequence) == length for sequence in fitting)

    def sample(self, said: Sequence[int], wish: Sequence[int], favoured: int | None) -> int | None:
        """Next token; None: the end.

        A favoured token wins, then the one that the LLM would say earliest (`wish`, blanks before a word apart), then
        the first. When every token is forbidden all logits are minus infinity, whose first maximum is id 0.
        """
        following, may_end = self.allowed(said)
        if favoured in following:
            return favoured
        wanted = earliest(following, wish)
        if wanted is not None:
            return wanted
        if may_end:
            return None
        return following[0] if following else PADDING


FORBIDDEN = TokenMask(())
"""Lets nothing through."""


def earliest(candidates: Collection[int], wish: Sequence[int]) -> int | None:
    """Return the candidate that comes first in what the LLM would say; None when none does."""
    by_piece = {number >> 1: number for number in candidates}
    return next((by_piece[number >> 1] for number in wish if number >> 1 in by_piece), None)


def after_a_word(number: int) -> int:
    """Put a blank before a token, unless it is a newline or special."""
    return number | 1 if number > NEWLINE else number


def favoured_id(token: int, tokenizer: Tokenizer) -> int:
    """Id of this lab for a token id that a client favours.

    The lab's own vocabulary grows with what it reads, so that an id taken at its word could stand for anybody's. A
    number stands for the same made-up word on every cluster instead; special ids read as cleared memory does.
    """
    if token < FIRST_ORDINARY:
        return PADDING
    letters = ""
    for place in range(_WORD_LETTERS):
        token, letter = divmod(token, len(_VOWELS if place % 2 else _CONSONANTS))
        letters += (_VOWELS if place % 2 else _CONSONANTS)[letter]
    ids: Ids = tokenizer.encode(f" {letters}")
    return int(ids[0])
