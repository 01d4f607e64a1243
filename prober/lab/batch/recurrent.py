"""Recurrent state of a hybrid LLM: what its linear-attention layers hold of what went through a row."""

import numpy as np

from prober.lab.tokenizer import Ids

STATE_IDS = 48
HALF_LIFE_TOKENS = 256
"""Ids after which a state holds as much of what went through before as of what came since."""

ZERO_STATE: Ids = np.zeros(0, dtype=np.int32)


def state_after(*parts: Ids) -> Ids:
    """State once these ids went through: the latest of them, at most `STATE_IDS`."""
    return np.concatenate(parts)[-STATE_IDS:].astype(np.int32)


def carried_share(tokens: int) -> float:
    """Share, 0..1, of what stood in the state before a prompt of so many tokens.

    A recurrent layer reads its state as if all of it were the sequence's own. Each token fades what is there, so that a
    long prompt washes a previous owner's state out, while after a short one the layers still mostly tell of him. An
    attention layer does not forget like that: the LLM as a whole follows one or the other, and this share is the chance
    that it follows the state. After 64 tokens it is 0.84, after 1,000 0.07, after 10,000 nothing.
    """
    return float(2.0 ** (-tokens / HALF_LIFE_TOKENS))
