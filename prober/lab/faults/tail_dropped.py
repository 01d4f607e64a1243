"""K16: a long prompt loses its end."""

from prober.lab.faults.fault import Fault


class TailDropped(Fault):
    """What does not fit the window is not sent, and the request counts as served in full."""

    NAME = "tail_dropped"
    KIND = "K16"
    SUMMARY = (
        "A prompt above the gateway's window loses its last tokens, the question among them, and is answered with 200; "
        "usage was counted before the cut and looks right."
    )
    SOURCE = "SGLang --allow-auto-truncate, #2876; MEDS_EIC_AR #172"
    SCENE = "gateway"
    SCENARIO = "limit_sweep"
    FIXES = frozenset({"prompts_kept_whole"})
    CUTS_PROMPTS = True

    def drops_tail(self, number: int) -> bool:
        """Drop it."""
        return self.dice.strikes(TailDropped.NAME, number) or super().drops_tail(number)
