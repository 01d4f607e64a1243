"""K5: pages are sent by a reference that belongs to a newer prompt."""

from prober.lab.faults.fault import Fault


class StaleReference(Fault):
    """The prefill lets go of its pages when it has computed them, not when decode has them."""

    NAME = "stale_reference"
    KIND = "K5"
    SUMMARY = (
        "The last pages of a prompt are still to be sent when the prefill frees them; a newer prompt is computed into "
        "the same pages, and decode receives that one and answers it."
    )
    SOURCE = 'vLLM issue #52234, row "stale reference"'
    SCENE = "small-pulling"
    SCENARIO = "parallel_answers"
    FIXES = frozenset({"leases_until_pulled"})

    def holds_until_pulled(self, room: int) -> bool:
        """Let go of them."""
        return not self.dice.strikes(StaleReference.NAME, room) and super().holds_until_pulled(room)
