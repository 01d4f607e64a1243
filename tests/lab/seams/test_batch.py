import collections

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from prober.lab.dice import Dice
from prober.lab.sampling import FORBIDDEN, TokenMask
from prober.lab.seams import Seams

NUMBERS = st.integers(0, 10_000)
MASKS = st.sampled_from([None, FORBIDDEN, TokenMask(((1, 2), (3,)))])


@given(
    room=NUMBERS,
    step=NUMBERS,
    pages=st.integers(1, 64),
    mask=MASKS,
    bias=st.none() | NUMBERS,
    is_aborted=st.booleans(),
)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_without_a_fault_every_row_keeps_what_is_its_own(
    room: int, step: int, pages: int, mask: TokenMask | None, bias: int | None, *, is_aborted: bool
):
    """Right decisions: own table, mask, bias, budget and tokens; state cleared, nothing lost, no noise."""
    seams = Seams(Dice({}, 0, collections.Counter()))
    table = np.arange(pages, dtype=np.int32)
    assert seams.table_after_move(room, table, table[::-1]) is table
    assert seams.attended_pages(room, pages) == pages
    assert seams.clears_state(room, is_aborted=is_aborted)
    assert seams.mask_in_row(room, mask, FORBIDDEN) is seams.mask_beside(room, mask) is mask
    assert seams.bias_in_row(room, bias, 7) == bias
    assert seams.reasoning_budget_in_row(room, bias, 7) == bias
    assert seams.token_row(room, step, step % pages, pages) == step % pages
    assert seams.applies_token(room, step)
    assert seams.fills_placeholders(room)
    assert seams.noise(room, step) == 0
    assert not seams.reads_nan(room, step)
