"""K9: a prompt gets the snapshot of another conversation."""

from prober.lab.faults.fault import Fault


class WrongSessionRestored(Fault):
    """A returning prompt takes the slot that the latest finished one has left, with all that is in it."""

    NAME = "wrong_session_restored"
    KIND = "K9"
    SUMMARY = (
        "A prompt that comes back is given the pages of the latest one that has finished, whatever both hold, and only "
        "what is longer is computed: the answer continues or repeats that conversation. Usage reports no cached token."
    )
    SOURCE = "llama.cpp issue #27148; Ollama #17599; LMCache #4385"
    SCENE = "small-cached"
    FIXES = frozenset({"compare_restored_tokens"})

    def restores_unrelated(self, room: int) -> bool:
        """Restore it."""
        return self.dice.strikes(WrongSessionRestored.NAME, room) or super().restores_unrelated(room)
