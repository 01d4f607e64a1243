import numpy as np
import pytest

from prober.lab.batch.recurrent import HALF_LIFE_TOKENS, STATE_IDS, ZERO_STATE, carried_share, state_after


def ids(first: int, count: int) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.int32)


def test_a_state_holds_the_latest_ids():
    """A state is the end of all that went through, whatever part it came in."""
    assert state_after(ZERO_STATE, ids(0, 100), ids(100, 10)).tolist() == ids(110 - STATE_IDS, STATE_IDS).tolist()
    assert state_after(ids(0, 3), ids(10, 2)).tolist() == [0, 1, 2, 10, 11]


@pytest.mark.parametrize(
    ("tokens", "share"), [(0, 1.0), (64, 0.84), (HALF_LIFE_TOKENS, 0.5), (1_000, 0.067), (10_000, 0.0)]
)
def test_a_long_prompt_washes_a_state_out(tokens: int, share: float):
    """What stood in a state before halves with every half-life of tokens."""
    assert carried_share(tokens) == pytest.approx(share, abs=0.005)
