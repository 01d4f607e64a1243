"""K9: after a restart, stored entries are mapped to wrong content."""

from prober.lab.faults.fault import Fault


class WarmStore(Fault):
    """A new process takes the places that an earlier one noted for places of its own."""

    NAME = "warm_store"
    KIND = "K9"
    SUMMARY = (
        "After a restart a page that an earlier process stored on the disk is looked for half of the disk further on: "
        "a prompt from before the restart reads other prompts' pages, with HTTP 200."
    )
    SOURCE = "LMCache issue #4492"
    SCENE = "small-tiered"
    SCENARIO = "rollout"
    FIXES = frozenset({"store_per_process"})

    def place_on_disk(self, key: bytes, place: int, places: int) -> int:
        """Take it for a place in half of the disk's distance."""
        if self.dice.strikes(WarmStore.NAME, key.hex()):
            return (place + places // 2) % places
        return super().place_on_disk(key, place, places)
