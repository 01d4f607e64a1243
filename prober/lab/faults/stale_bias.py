"""K10: the logit bias of a request that left stays on its row."""

from prober.lab.faults.fault import Fault


class StaleBias(Fault):
    """Leaving removes a request's bias from the list and not from the row's tensor."""

    NAME = "stale_bias"
    KIND = "K10"
    SUMMARY = (
        "A request with a logit bias leaves; the one that moves into its row, or joins there next, is decoded with the "
        "bias and repeats the favoured token to the end of its budget."
    )
    SOURCE = "vLLM issue #48419 (InputBatch.swap_states copies one row over both)"
    SCENE = "small-batched"
    FIXES = frozenset({"move_bias_with_row"})

    def bias_in_row(self, room: int, own: int | None, left: int) -> int | None:
        """What is there already."""
        if own is None and self.dice.strikes(StaleBias.NAME, room):
            return left
        return super().bias_in_row(room, own, left)
