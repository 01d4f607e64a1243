"""Decisions of continuous batching: what moves with a row, what is cleared, whose token is whose."""

from prober.lab.allocator import Pages
from prober.lab.sampling import TokenMask


class BatchSeams:
    """Right decisions of batch rows, sampling and numerics.

    Rooms name requests. A `left` argument is what the request that left the row, or had it before, has left there.
    """

    def table_after_move(self, room: int, moved: Pages, left: Pages) -> Pages:
        """Page table that a row's first forward step after its move reads; `left` is the target line as it was."""
        del room, left
        return moved

    def attended_pages(self, room: int, pages: int) -> int:
        """How many entries of its page table a prompt of so many pages attends to."""
        del room
        return pages

    def clears_state(self, room: int, *, is_aborted: bool) -> bool:
        """Whether the recurrent state of a request that leaves is set to zero before its slot is used again."""
        del room, is_aborted
        return True

    def mask_in_row(self, room: int, own: TokenMask | None, left: TokenMask) -> TokenMask | None:
        """Token mask of a request that takes a row, by moving or by joining, which a constrained one had."""
        del room, left
        return own

    def mask_beside(self, room: int, own: TokenMask | None) -> TokenMask | None:
        """Token mask of a request beside which a constrained one runs."""
        del room
        return own

    def bias_in_row(self, room: int, own: int | None, left: int) -> int | None:
        """Favoured token of a request that takes a row, by moving or by joining, which a biased one had."""
        del room, left
        return own

    def reasoning_budget_in_row(self, room: int, own: int | None, left: int) -> int | None:
        """Reasoning budget of a request that takes a row, by moving or by joining, which had one of its own."""
        del room, left
        return own

    def token_row(self, room: int, step: int, row: int, rows: int) -> int:
        """Row whose pending tokens are the output of a row's step, of so many rows (at least two)."""
        del room, step, rows
        return row

    def applies_token(self, room: int, step: int) -> bool:
        """Whether a step's input holds the tokens of the step before; else it samples those again."""
        del room, step
        return True

    def fills_placeholders(self, room: int) -> bool:
        """Whether the placeholders of a request that joins a running batch become tokens before they are written."""
        del room
        return True

    def noise(self, room: int, served: int) -> float:
        """Chance, per token, that noise in the logits decides; `served`: requests answered since the start."""
        del room, served
        return 0.0

    def reads_nan(self, room: int, served: int) -> bool:
        """Whether a request's attention reads numbers that are none from scratch memory."""
        del room, served
        return False
