"""K4: part of a batch counts as read although nothing was."""

from prober.lab.faults.fault import Fault


class PartialBatchHit(Fault):
    """A batched get whose staging memory runs out on the way reports the keys before that as hits."""

    NAME = "partial_batch_hit"
    KIND = "K4"
    SUMMARY = (
        "A load needs more pages than the staging buffer has left; the keys before the one that found no room count as "
        "loaded, unread, and their pages keep what was evicted from them. The rest is computed."
    )
    SOURCE = "LMCache issue #3022, pull request #3620"
    SCENE = "small-tiered"
    FIXES = frozenset({"read_what_was_staged"})

    def counts_unread_pages(self, room: int) -> bool:
        """Count them."""
        return self.dice.strikes(PartialBatchHit.NAME, room) or super().counts_unread_pages(room)
