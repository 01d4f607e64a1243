"""K7: an abort leaves its slot as it is."""

from prober.lab.faults.fault import Fault


class AbortedSlot(Fault):
    """A request that ends clears its slot; one that is aborted takes another way out."""

    NAME = "aborted_slot"
    KIND = "K7"
    SUMMARY = (
        "A client hangs up in the middle of its answer; the recurrent state stays in the slot, and the short prompt "
        "that gets it next goes on with the aborted text."
    )
    SOURCE = "Ollama issue #17475 (shared slot after an abort)"
    SCENE = "small-batched"
    SCENARIO = "abort_storm"
    FIXES = frozenset({"clear_on_abort"})

    def clears_state(self, room: int, *, is_aborted: bool) -> bool:
        """Leave it when aborted."""
        if is_aborted and self.dice.strikes(AbortedSlot.NAME, room):
            return False
        return super().clears_state(room, is_aborted=is_aborted)
