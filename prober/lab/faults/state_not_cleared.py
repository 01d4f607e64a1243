"""K7: a state slot is handed on as it is."""

from prober.lab.faults.fault import Fault


class StateNotCleared(Fault):
    """A slot of recurrent state goes to the next request without being zeroed."""

    NAME = "state_not_cleared"
    KIND = "K7"
    SUMMARY = (
        "The recurrent state of a finished request stays in its slot, and a short prompt that gets the slot next is "
        "outweighed by it: its answer goes on with the previous owner's text."
    )
    SOURCE = "vLLM issue #56524 (Mamba and KDA state blocks)"
    SCENE = "small-batched"
    SCENARIO = "abort_storm"
    FIXES = frozenset({"zero_on_allocation"})

    def clears_state(self, room: int, *, is_aborted: bool) -> bool:
        """Leave it."""
        return not self.dice.strikes(StateNotCleared.NAME, room) and super().clears_state(room, is_aborted=is_aborted)
