"""K18: scratch memory holds numbers that are none."""

from prober.lab.faults.fault import Fault

_WORKSPACES = 6
_UNTIL = 96


class NanScratch(Fault):
    """Dummy batches of the start-up leave NaN in a scratch workspace, which masked reads still multiply by zero."""

    NAME = "nan_scratch"
    KIND = "K18"
    SUMMARY = (
        "After a start or rollout one of six scratch workspaces, which requests get in turn, holds NaN: every sixth "
        "answer is garbage or ends at once, until ordinary traffic has overwritten it after 96 requests."
    )
    SOURCE = "vLLM issue #57156 (dummy batches of CUDA graph capture)"
    SCENE = "small"
    SCENARIO = "rollout"
    FIXES = frozenset({"zero_scratch"})

    def reads_nan(self, room: int, served: int) -> bool:
        """Whoever gets that one, as long as it is there."""
        is_bad = served <= _UNTIL and served % _WORKSPACES == 0
        return (is_bad and self.dice.strikes(NanScratch.NAME, room)) or super().reads_nan(room, served)
