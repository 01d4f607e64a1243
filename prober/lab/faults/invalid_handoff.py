"""K1: a request refused for its form lives on as a stub."""

from prober.lab.faults.fault import Fault


class InvalidHandoff(Fault):
    """Admission takes what the scheduler refused, whatever the reason was."""

    NAME = "invalid_handoff"
    KIND = "K1"
    SUMMARY = (
        "The prefill refuses a request late, for a grammar that does not compile, and sends a one-token stub all the "
        "same; decode answers from what the pages of the whole prompt held before."
    )
    SOURCE = "SGLang issues #34208 and #32605"
    SCENE = "small-disaggregated"
    SCENARIO = "provoked_refusals"
    FIXES = frozenset({"reject_at_door"})

    def admits_invalid(self, room: int) -> bool:
        """Let it pass."""
        return self.dice.strikes(InvalidHandoff.NAME, room) or super().admits_invalid(room)
