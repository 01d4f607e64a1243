"""K3: a restored page is read before its copy has arrived."""

from prober.lab.faults.fault import Fault

_LAST_PAGES = 4


class LoadRace(Fault):
    """The request waits for the copies that were ordered last, and several streams make them out of order."""

    NAME = "load_race"
    KIND = "K3"
    SUMMARY = (
        "A prompt whose pages come back from a tier is answered before all copies but the last four have arrived: "
        "single pages still hold what was evicted from them, often another tenant's text. The copies come in time for "
        "the next reader."
    )
    SOURCE = "SGLang HiCache, pull request #22811; vLLM issue #47282"
    SCENE = "small-tiered"
    FIXES = frozenset({"await_layer_load"})

    def awaits_copy(self, room: int, place: int, behind: int) -> bool:
        """Only if it is among the last."""
        if behind >= _LAST_PAGES and self.dice.strikes(LoadRace.NAME, (room, place)):
            return False
        return super().awaits_copy(room, place, behind)
