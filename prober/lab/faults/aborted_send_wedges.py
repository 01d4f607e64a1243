"""K2: an abort under a sender leaves the sender blocked."""

from prober.lab.faults.fault import Fault


class AbortedSendWedges(Fault):
    """A transfer worker never comes back from a send that was aborted under way."""

    NAME = "aborted_send_wedges"
    KIND = "K2"
    SUMMARY = (
        "A client hangs up while its pages are on the wire; the transfer worker waits for an acknowledgement that "
        "never comes, and once all workers are lost every later request hangs, while the health check stays green."
    )
    SOURCE = "TensorRT-LLM issues #12540, #12542 and #13713"
    SCENE = "small-watchful"
    FIXES = frozenset({"cancellable_sends"})

    def gives_worker_back(self, room: int) -> bool:
        """Lose it."""
        return not self.dice.strikes(AbortedSendWedges.NAME, room) and super().gives_worker_back(room)
