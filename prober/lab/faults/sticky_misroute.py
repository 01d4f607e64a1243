"""K15: a share of sessions has its home at a backend of another kind."""

from prober.lab.faults.fault import Fault


class StickyMisroute(Fault):
    """The table of homes does not ask which group a backend belongs to."""

    NAME = "sticky_misroute"
    KIND = "K15"
    SUMMARY = (
        "New sessions are spread over all backends, those of another model group among them, and stay there: some "
        "sessions for ever meet another context size and a worse LLM."
    )
    SOURCE = "Anthropic, post-mortem of 17 September 2025, first bug"
    SCENE = "gateway-groups"
    SCENARIO = "cohorts"
    FIXES = frozenset({"homes_within_group"})

    def leaves_group(self, session: str) -> bool:
        """Let it."""
        return self.dice.strikes(StickyMisroute.NAME, session) or super().leaves_group(session)
