"""K11: a step is submitted before the token of the one before is in its input."""

from prober.lab.faults.fault import Fault

_PERIOD = 4


class DoubledToken(Fault):
    """The input still ends where it did, so that the same is sampled again."""

    NAME = "doubled_token"
    KIND = "K11"
    SUMMARY = (
        "With several requests running, one step in four starts before the last token was applied, and samples it a "
        "second time: words stand twice."
    )
    SOURCE = "tenstorrent/vllm issue #396, vLLM issue #46669 (asynchronous scheduling)"
    SCENE = "small"
    SCENARIO = "parallel_answers"
    FIXES = frozenset({"apply_before_submit"})

    def applies_token(self, room: int, step: int) -> bool:
        """Not yet."""
        is_struck = step % _PERIOD == room % _PERIOD and self.dice.strikes(DoubledToken.NAME, f"{room} {step}")
        return not is_struck and super().applies_token(room, step)
