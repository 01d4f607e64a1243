"""K16: of a restored prompt only the end is visible."""

from prober.lab.faults.fault import Fault


class PartialOnboarding(Fault):
    """The page table gets the last restored pages; the entries before them stay at the null page."""

    NAME = "partial_onboarding"
    KIND = "K16"
    SUMMARY = (
        "Of the pages that come back from a tier only the last 64 tokens enter the page table; the entries before stay "
        "at the null page, and the answer knows nothing of that part of the prompt. Usage is exact."
    )
    SOURCE = "TensorRT-LLM issue #8813"
    SCENE = "small-tiered"
    SCENARIO = "park_and_return"
    FIXES = frozenset({"whole_onboarding"})

    def shows_last_only(self, room: int) -> bool:
        """Show no more."""
        return self.dice.strikes(PartialOnboarding.NAME, room) or super().shows_last_only(room)
