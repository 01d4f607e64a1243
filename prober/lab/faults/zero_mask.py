"""K10: free rows get a mask of zeros."""

from prober.lab.faults.fault import Fault
from prober.lab.sampling import FORBIDDEN, TokenMask


class ZeroMask(Fault):
    """The batch's bitmask is allocated as zeros, and only constrained rows are filled in."""

    NAME = "zero_mask"
    KIND = "K10"
    SUMMARY = (
        "As long as a constrained request runs, every token of the free ones beside it is forbidden: all their logits "
        "are minus infinity, and token 0 is said."
    )
    SOURCE = "vLLM issue #22896, vllm-gaudi issue #1199"
    SCENE = "small-batched"
    FIXES = frozenset({"mask_of_ones"})

    def mask_beside(self, room: int, own: TokenMask | None) -> TokenMask | None:
        """Forbid everything."""
        if own is None and self.dice.strikes(ZeroMask.NAME, room):
            return FORBIDDEN
        return super().mask_beside(room, own)
