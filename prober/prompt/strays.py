"""Single words that an answer has no business with: of other live probes' phrases, and of nothing in its own prompt."""

import numpy as np

from prober.domain.prompt import Prompt
from prober.prompt.donors import alphabet_words
from prober.prompt.live import LiveIndex
from prober.prompt.normalised import visible_ascii
from prober.prompt.wording import IS_WORDING


def stray_words(content: str, own: Prompt, live: LiveIndex) -> int:
    """Count them, each time they occur.

    One tells little: with n phrase words held, a word of the alphabet is among them by chance with probability
    1 - (1 - 1/2048)**n, and some of them are common in ordinary language.
    """
    if not content:
        return 0
    numbers = alphabet_words(visible_ascii(content))
    own_words = live.donor_of(own).words
    is_stray = (live.phrases.word_uses > 0) & ~own_words & ~IS_WORDING
    return int(np.count_nonzero(is_stray[numbers[numbers >= 0]]))
