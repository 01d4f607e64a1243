"""K3: a snapshot is taken before the last page was written."""

from prober.lab.faults.fault import Fault


class StoreRace(Fault):
    """The copy for the tiers does not wait for the kernels that write the pages."""

    NAME = "store_race"
    KIND = "K3"
    SUMMARY = (
        "The copy that a tier gets of a prompt's last whole page is taken when the page was not written yet; the "
        "device answers rightly, and the prompt that comes back from the tier reads what the page held before."
    )
    SOURCE = "vLLM SimpleCPUOffloadConnector, issue #45704, pull request #46278"
    SCENE = "small-tiered"
    FIXES = frozenset({"store_after_write"})

    def snapshots_early(self, room: int) -> bool:
        """Take it now."""
        return self.dice.strikes(StoreRace.NAME, room) or super().snapshots_early(room)
