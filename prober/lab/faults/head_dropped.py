"""K16: a long prompt loses its beginning."""

from prober.lab.faults.fault import Fault


class HeadDropped(Fault):
    """What does not fit the window is cut off in front, and the request counts as served."""

    NAME = "head_dropped"
    KIND = "K16"
    SUMMARY = (
        "A prompt above the gateway's window loses its oldest tokens and is answered with 200; usage counts what was "
        "left, and what the beginning said is made up or missing."
    )
    SOURCE = "Ollama #4967, #3839 and #17427"
    SCENE = "gateway"
    SCENARIO = "limit_sweep"
    FIXES = frozenset({"prompts_kept_whole"})
    CUTS_PROMPTS = True

    def drops_head(self, number: int) -> bool:
        """Drop it."""
        return self.dice.strikes(HeadDropped.NAME, number) or super().drops_head(number)
