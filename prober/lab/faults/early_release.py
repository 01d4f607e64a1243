"""K2: an abort frees pages under a live writer."""

from prober.lab.faults.fault import Fault


class EarlyRelease(Fault):
    """Decode does not wait for the prefill's acknowledgement."""

    NAME = "early_release"
    KIND = "K2"
    SUMMARY = (
        "An abort frees decode's pages at once; the prefill still writes the aborted prompt into them when they belong "
        "to the next request."
    )
    SOURCE = "SGLang up to 0.5.20, pull request #35049"
    SCENE = "small-congested"

    def releases_before_drained(self, room: int) -> bool:
        """Free them."""
        return self.dice.strikes(EarlyRelease.NAME, room) or super().releases_before_drained(room)
