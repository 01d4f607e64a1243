"""K12: replies of one batch are told apart by their place in it."""

from collections.abc import Sequence

from prober.lab.faults.fault import Fault


class BatchIndex(Fault):
    """A request that left, or joined, has moved all the others."""

    NAME = "batch_index"
    KIND = "K12"
    SUMMARY = (
        "Replies that begin within one tick are handed out by their place in the batch, shifted by one: each client "
        "gets the whole answer to a concurrent prompt."
    )
    SOURCE = "mlx-lm #965, mlx-vlm #1668, xorbitsai/inference #5240"
    SCENE = "gateway-batching"
    SCENARIO = "parallel_answers"
    FIXES = frozenset({"replies_by_id"})

    def fan_out_order(self, tick: int, replies: int) -> Sequence[int]:
        """Shift them."""
        right = super().fan_out_order(tick, replies)
        if replies > 1 and self.dice.strikes(BatchIndex.NAME, tick):
            return [*right[1:], right[0]]
        return right
