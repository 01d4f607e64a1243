"""K17: a failed request is written up as an answer that reached its length."""

from prober.lab.faults.fault import Fault


class LengthForAbort(Fault):
    """The error path is overwritten by the ending of an answer."""

    NAME = "length_for_abort"
    KIND = "K17"
    SUMMARY = (
        "A request that was refused or failed ends as an answer of no tokens with finish reason length and status 200."
    )
    SOURCE = "SGLang issue #33507"
    SCENE = "small-disaggregated"
    SCENARIO = "provoked_refusals"
    FIXES = frozenset({"honest_endings"})

    def tells_failure(self, room: int) -> bool:
        """Write it up."""
        return not self.dice.strikes(LengthForAbort.NAME, room) and super().tells_failure(room)
