"""Corrupted decoding: what sampling gives when logits are noise or not a number."""

import random

from prober.lab.tokenizer import Tokenizer

SCRIPTS = (
    "\N{CYRILLIC SMALL LETTER ZHE}\N{CYRILLIC SMALL LETTER YU}\N{CYRILLIC SMALL LETTER SHCHA}",
    "\N{GREEK SMALL LETTER XI}\N{GREEK SMALL LETTER PSI}\N{GREEK SMALL LETTER OMEGA}",
    "\N{THAI CHARACTER KO KAI}\N{THAI CHARACTER THO THAHAN}\N{THAI CHARACTER SO SO}",
    "\N{ARABIC LETTER AIN}\N{ARABIC LETTER QAF}\N{ARABIC LETTER HAH}",
    "\N{DEVANAGARI LETTER KA}\N{DEVANAGARI LETTER JHA}\N{DEVANAGARI LETTER SHA}",
    "\N{HANGUL SYLLABLE GAG}\N{HANGUL SYLLABLE GEUG}\N{HANGUL SYLLABLE HIH}",
    "\N{CJK UNIFIED IDEOGRAPH-7684}\N{CJK UNIFIED IDEOGRAPH-9F98}\N{CJK UNIFIED IDEOGRAPH-8F49}",
)
"""Letters of seven scripts, three of each. Vocabularies are full of such pieces, and no text of anyone is needed."""
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""What half a character decodes to."""
_REPLACEMENT_SHARE, _LOOP_SHARE = 0.2, 0.25
_LOOP_TOKENS = (4, 9)


class Noise:
    """Replaces sampled tokens of one answer, each with a given probability.

    Logits that are merely noisy still hold what was said last, so that loops come; those that are not numbers do not.
    """

    def __init__(self, level: float, seed: int, tokenizer: Tokenizer, *, has_loops: bool = True) -> None:
        self._level = level
        self._loop_share = _LOOP_SHARE if has_loops else 0.0
        self._tokenizer = tokenizer
        self._random = random.Random(f"noise {seed}")  # noqa: S311 - simulation, no secret
        self._looped = 0
        self._left = 0

    def corrupt(self, number: int) -> int:
        """Return the token, or what is sampled instead: a stray letter, half a character, the same again for long."""
        draw = self._random
        if self._left:
            self._left -= 1
            return self._looped
        if draw.random() >= self._level:
            return number
        kind = draw.random()
        if kind < self._loop_share:
            self._looped, self._left = number, draw.randint(*_LOOP_TOKENS)
            return number
        text = _REPLACEMENT if kind < self._loop_share + _REPLACEMENT_SHARE else draw.choice(draw.choice(SCRIPTS))
        return int(self._tokenizer.encode(f" {text}")[0])
