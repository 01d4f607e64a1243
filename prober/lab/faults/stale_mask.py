"""K10: the token mask of a request that left stays on its row."""

from prober.lab.faults.fault import Fault
from prober.lab.sampling import TokenMask


class StaleMask(Fault):
    """Condensing the batch copies the masks of constrained requests only, and clears none."""

    NAME = "stale_mask"
    KIND = "K10"
    SUMMARY = (
        "A constrained request leaves; the free one that moves into its row, or joins there next, keeps the row's "
        "allowed tokens and says one of the other request's choices."
    )
    SOURCE = "vLLM CVE-2026-114049, pull request #43894 (InputBatch.condense, allowed_token_ids)"
    SCENE = "small-batched"
    FIXES = frozenset({"move_mask_with_row"})

    def mask_in_row(self, room: int, own: TokenMask | None, left: TokenMask) -> TokenMask | None:
        """What is there already."""
        if own is None and self.dice.strikes(StaleMask.NAME, room):
            return left
        return super().mask_in_row(room, own, left)
