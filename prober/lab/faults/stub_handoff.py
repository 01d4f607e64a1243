"""K1: a refused prompt lives on as a one-token stub."""

from prober.lab.faults.fault import Fault


class StubHandoff(Fault):
    """Admission asks "finished?" and not "rejected?"."""

    NAME = "stub_handoff"
    KIND = "K1"
    SUMMARY = (
        "A prompt longer than the prefill pool is refused and replaced by one token, yet passes the queues; decode has "
        "pages for all of it and answers from what they held before."
    )
    SOURCE = "SGLang 0.4.7 to 0.5.19, issue #30233"
    SCENE = "small-disaggregated"

    def admits_refused(self, room: int) -> bool:
        """Let it pass."""
        return self.dice.strikes(StubHandoff.NAME, room) or super().admits_refused(room)
