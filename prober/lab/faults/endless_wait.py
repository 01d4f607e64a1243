"""K17: a refusal is never answered."""

from prober.lab.faults.fault import Fault


class EndlessWait(Fault):
    """Whoever was refused is not told, and waits."""

    NAME = "endless_wait"
    KIND = "K17"
    SUMMARY = (
        "A refusal by the inference server is dropped before it reaches the client's mailbox; the client waits until "
        "it gives up."
    )
    SOURCE = "SGLang #33507 and #24159, aibrix #2289"
    SCENE = "gateway"
    SCENARIO = "provoked_refusals"
    FIXES = frozenset({"refusals_answered"})

    def answers_refusal(self, number: int) -> bool:
        """Drop it."""
        return not self.dice.strikes(EndlessWait.NAME, number) and super().answers_refusal(number)
